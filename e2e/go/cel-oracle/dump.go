package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// Table is what a checker must know of the environment. Types are written as in error texts; type parameters as <A>.
type Table struct {
	Functions map[string][]Overload `json:"functions"`
	Macros    []Macro               `json:"macros"`
	// Variables by context; those of "if" exist under that condition.
	Variables []DeclaredVariable `json:"variables"`
	// TypeNames are identifiers that stand for a type.
	TypeNames []TypeName `json:"typeNames"`
	// Constants are identifiers with a value that is no type.
	Constants map[string]*Value `json:"constants"`
	// Structs are types with known fields; Constructible ones may stand before braces.
	Structs map[string]Struct `json:"structs"`
}

// Overload is one signature of a function.
type Overload struct {
	ID     string   `json:"id"`
	Member bool     `json:"member"`
	Args   []string `json:"args"`
	Result string   `json:"result"`
	// NonStrict functions see errors as arguments.
	NonStrict bool `json:"nonStrict,omitempty"`
	// MutationOnly functions exist in mutations only.
	MutationOnly bool `json:"mutationOnly,omitempty"`
}

// Macro is a name that the parser expands when it is called so.
type Macro struct {
	Name     string `json:"name"`
	Receiver bool   `json:"receiver"`
	Args     int    `json:"args"`
	Vararg   bool   `json:"vararg"`
}

// DeclaredVariable is a name that the environment binds.
type DeclaredVariable struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Contexts []string `json:"contexts"`
	If       string   `json:"if,omitempty"`
}

// TypeName is a name that the checker takes for a type. The planner knows fewer: the others are refused when the program is made.
type TypeName struct {
	Name       string `json:"name"`
	StaticType string `json:"staticType"`
	Refused    string `json:"refused,omitempty"`
}

// Struct is a type with fields.
type Struct struct {
	Fields        map[string]string `json:"fields"`
	Constructible bool              `json:"constructible"`
}

// dump prints the Table of the environment as JSON, or its functions as the engine reads them.
func dump(args []string) error {
	flags := flag.NewFlagSet("dump", flag.ContinueOnError)
	tsv := flags.Bool("tsv", false, "only the functions, a line for each overload")
	if err := flags.Parse(args); err != nil {
		return err
	}
	env, err := mutationEnv()
	if err != nil {
		return err
	}
	base := environment.MustBaseEnvSet(release).StoredExpressionsEnv()
	if *tsv {
		return dumpFunctions(functionsOf(env, base))
	}
	table := Table{
		Functions: functionsOf(env, base), Macros: macrosOf(env), Variables: variablesOf(),
		Constants: map[string]*Value{"google.protobuf.NullValue.NULL_VALUE": {"int": "0"}},
	}
	judge, err := newJudge(Fixtures{})
	if err != nil {
		return err
	}
	table.TypeNames = typeNamesOf(judge)
	table.Structs = structsOf(judge, env)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(table)
}

// mutationEnv is the richest environment without variables: all of the base, and what mutations add.
func mutationEnv() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(release).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: []cel.EnvOption{library.JSONPatch()},
	})
	if err != nil {
		return nil, err
	}
	return set.StoredExpressionsEnv(), nil
}

// Older names of operators, which no expression can write.
var unwritable = []string{operators.OldIn, operators.OldNotStrictlyFalse, overloads.DeprecatedIn}

func dumpFunctions(functions map[string][]Overload) error {
	out := bufio.NewWriter(os.Stdout)
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if slices.Contains(unwritable, name) {
			continue
		}
		for _, o := range functions[name] {
			style := "global"
			if o.Member {
				style = "member"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", name, o.ID, style, strings.Join(o.Args, ";"), o.Result)
		}
	}
	return out.Flush()
}

// functionsOf lists overloads in the order of their declaration, in which the checker and the dispatcher try them.
func functionsOf(env, base *cel.Env) map[string][]Overload {
	functions := map[string][]Overload{}
	for name, function := range env.Functions() {
		for _, o := range function.OverloadDecls() {
			args := []string{}
			for _, t := range o.ArgTypes() {
				args = append(args, t.String())
			}
			functions[name] = append(functions[name], Overload{
				o.ID(), o.IsMemberFunction(), args, o.ResultType().String(), o.IsNonStrict(), !base.HasFunction(name),
			})
		}
	}
	return functions
}

func macrosOf(env *cel.Env) []Macro {
	var macros []Macro
	for _, m := range env.Macros() {
		macros = append(macros, Macro{m.Function(), m.IsReceiverStyle(), m.ArgCount(), strings.Contains(m.MacroKey(), ":*:")})
	}
	slices.SortFunc(macros, func(a, b Macro) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return a.Args - b.Args
	})
	return macros
}

func variablesOf() []DeclaredVariable {
	var all, authorizer, composed, always []string
	for name, where := range places {
		all = append(all, name)
		if where.authorizerDeclared {
			authorizer = append(authorizer, name)
		}
		switch where.composition {
		case composedIfVariables:
			composed = append(composed, name)
		case alwaysComposed:
			always = append(always, name)
		}
	}
	for _, names := range [][]string{all, authorizer, composed, always} {
		sort.Strings(names)
	}
	return []DeclaredVariable{
		{plugincel.ObjectVarName, "dyn", all, ""},
		{plugincel.OldObjectVarName, "dyn", all, ""},
		{plugincel.RequestVarName, plugincel.BuildRequestType().TypeName(), all, ""},
		{plugincel.NamespaceVarName, plugincel.BuildNamespaceType().TypeName(), all, ""},
		{plugincel.ParamsVarName, "dyn", all, "the policy has a paramKind"},
		{plugincel.AuthorizerVarName, library.AuthorizerType.TypeName(), authorizer, ""},
		{plugincel.RequestResourceAuthorizerVarName, library.ResourceCheckType.TypeName(), authorizer, ""},
		{plugincel.VariableVarName, "kubernetes.variables", composed, "the policy has variables"},
		{plugincel.VariableVarName, "kubernetes.variables", always, ""},
	}
}

// Names that might stand for a type: the judge says which do.
var maybeTypes = []string{
	"any", "bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint", "error", "unknown",
	"google.protobuf.Any", "google.protobuf.BoolValue", "google.protobuf.BytesValue", "google.protobuf.DoubleValue", "google.protobuf.Duration",
	"google.protobuf.Empty", "google.protobuf.FieldMask", "google.protobuf.FloatValue", "google.protobuf.Int32Value", "google.protobuf.Int64Value",
	"google.protobuf.ListValue", "google.protobuf.NullValue", "google.protobuf.StringValue", "google.protobuf.Struct", "google.protobuf.Struct.FieldsEntry",
	"google.protobuf.Timestamp", "google.protobuf.UInt32Value", "google.protobuf.UInt64Value", "google.protobuf.Value", "google.type.Expr", "cel.expr.Expr",
	"kubernetes.AdmissionRequest", "kubernetes.GroupVersionKind", "kubernetes.GroupVersionResource", "kubernetes.Namespace", "kubernetes.NamespaceCondition",
	"kubernetes.NamespaceMetadata", "kubernetes.NamespaceSpec", "kubernetes.NamespaceStatus", "kubernetes.UserInfo", "kubernetes.variables",
	"kubernetes.NamedFormat", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "kubernetes.authorization.Authorizer",
	"kubernetes.authorization.Decision", "kubernetes.authorization.GroupCheck", "kubernetes.authorization.PathCheck", "kubernetes.authorization.ResourceCheck",
	"net.CIDR", "net.IP", "Object", "JSONPatch",
}

func typeNamesOf(judge *judge) []TypeName {
	var found []TypeName
	for _, name := range maybeTypes {
		answer := judge.answer(Request{Expr: name})
		refused := ""
		if strings.HasPrefix(answer.CompileError, "program instantiation failed: ") {
			refused = answer.CompileError
			answer.StaticType = "type(" + name + ")"
		}
		if answer.StaticType != "" {
			found = append(found, TypeName{name, answer.StaticType, refused})
		}
	}
	return found
}

// structsOf lists the typed variables' types and the well-known messages that may be built.
func structsOf(judge *judge, env *cel.Env) map[string]Struct {
	structs := map[string]Struct{}
	addDeclared(structs, plugincel.BuildRequestType())
	addDeclared(structs, plugincel.BuildNamespaceType())
	provider := env.CELTypeProvider()
	for _, name := range maybeTypes {
		if _, declared := structs[name]; declared || !strings.HasPrefix(name, "google.") {
			continue
		}
		names, known := provider.FindStructFieldNames(name)
		if !known {
			continue
		}
		fields := map[string]string{}
		for _, field := range names {
			if t, found := provider.FindStructFieldType(name, field); found {
				fields[field] = t.Type.String()
			}
		}
		structs[name] = Struct{fields, judge.answer(Request{Expr: name + "{}"}).CompileError == ""}
	}
	for name, s := range structs {
		s.Constructible = judge.answer(Request{Expr: name + "{}"}).CompileError == ""
		structs[name] = s
	}
	structs["JSONPatch"] = Struct{map[string]string{"op": "string", "path": "string", "from": "string", "value": "dyn"}, true}
	return structs
}

func addDeclared(structs map[string]Struct, t *apiservercel.DeclType) {
	switch {
	case t.IsList():
		addDeclared(structs, t.ElemType)
	case t.IsMap():
		addDeclared(structs, t.ElemType)
	case t.IsObject():
		fields := map[string]string{}
		for name, field := range t.Fields {
			fields[name] = field.Type.CelType().String()
			addDeclared(structs, field.Type)
		}
		structs[t.TypeName()] = Struct{Fields: fields}
	}
}
