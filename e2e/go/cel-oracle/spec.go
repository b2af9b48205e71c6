package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"cel.dev/expr"
	// The test files name these messages, which must be known to be read at all.
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	spectest "cel.dev/expr/conformance/test"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"google.golang.org/protobuf/encoding/prototext"
)

// specFile counts what became of one file of cel-spec's simple tests.
type specFile struct {
	name    string
	total   int
	inside  int
	outside map[string]int
	// agrees: Kubernetes says what the specification says. refused: it does not compile the expression, where the
	// specification evaluates it. differs: the rest.
	agrees, refused, differs int
}

// spec writes those of cel-spec's simple tests that Kubernetes' environment can be asked, with Kubernetes' answers.
func spec(args []string) error {
	flags := flag.NewFlagSet("spec", flag.ContinueOnError)
	dir := flags.String("dir", "../../../tests/cel", "directory of vectors")
	data := flags.String("testdata", "", "directory of *.textproto; that of the module cel.dev/expr unless given")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "cel.dev/expr").Output()
		if err != nil {
			return fmt.Errorf("where is the module cel.dev/expr? %w", err)
		}
		*data = filepath.Join(strings.TrimSpace(string(module)), "tests", "simple", "testdata")
	}
	files, err := filepath.Glob(filepath.Join(*data, "*.textproto"))
	if err != nil {
		return err
	}
	judge, err := newJudge(Fixtures{})
	if err != nil {
		return err
	}
	var all []*specFile
	for _, file := range files {
		result, err := specVectors(judge, file, *dir)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, result)
	}
	printSpec(all)
	return nil
}

func specVectors(judge *judge, file, dir string) (*specFile, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var tests spectest.SimpleTestFile
	if err := prototext.Unmarshal(text, &tests); err != nil {
		return nil, err
	}
	result := &specFile{name: strings.TrimSuffix(filepath.Base(file), ".textproto"), outside: map[string]int{}}
	var requests []Request
	for _, section := range tests.GetSection() {
		for _, test := range section.GetTest() {
			result.total++
			request := Request{Expr: test.GetExpr(), Name: section.GetName() + "/" + test.GetName()}
			answer := judge.answer(request)
			if why := outside(test, answer); why != "" {
				result.outside[why]++
				continue
			}
			result.inside++
			result.compare(test, answer)
			requests = append(requests, request)
		}
	}
	output := filepath.Join(dir, "vectors", "spec-"+result.name+".jsonl")
	if len(requests) == 0 {
		return result, nil
	}
	_, err = writeVectors(judge, requests, output)
	return result, err
}

// outside says why a test cannot be asked of Kubernetes.
func outside(test *spectest.SimpleTest, answer Answer) string {
	switch {
	case len(test.GetTypeEnv()) > 0 || len(test.GetBindings()) > 0:
		return "variables of its own"
	case test.GetDisableMacros():
		return "macros off"
	case strings.Contains(answer.CompileError, "undeclared reference to") && test.GetContainer() != "":
		return "messages and enums of a container"
	case strings.Contains(answer.CompileError, "undeclared reference to"), isBlock(test.GetExpr()):
		return "names that Kubernetes does not declare"
	case strings.Contains(test.GetExpr(), "`"):
		return "backticks"
	case answer.Panic != "":
		return "crashes Kubernetes"
	}
	return ""
}

// isBlock: these are written with macros that only the test runner has, and fail on their arguments before their names.
func isBlock(text string) bool {
	return strings.Contains(text, "cel.block(") || strings.Contains(text, "cel.iterVar(") || strings.Contains(text, "cel.@block")
}

func (f *specFile) compare(test *spectest.SimpleTest, answer Answer) {
	wantsError := test.GetEvalError() != nil || test.GetAnyEvalErrors() != nil
	switch {
	case wantsError && answer.Error != "":
		f.agrees++
	case answer.CompileError != "":
		f.refused++
	case test.GetCheckOnly() && sameType(test.GetTypedResult().GetDeducedType(), answer.StaticType):
		f.agrees++
	case !wantsError && answer.Value != nil && sameValue(expected(test), *answer.Value):
		f.agrees++
	default:
		f.differs++
	}
}

func sameType(wanted *expr.Type, got string) bool {
	t, err := types.ProtoAsType(wanted)
	return err == nil && t.String() == got
}

// expected is the value of a test; one without any expects true.
func expected(test *spectest.SimpleTest) *expr.Value {
	if result := test.GetTypedResult().GetResult(); result != nil {
		return result
	}
	if test.GetValue() != nil {
		return test.GetValue()
	}
	return &expr.Value{Kind: &expr.Value_BoolValue{BoolValue: true}}
}

func sameValue(wanted *expr.Value, got Value) bool {
	value, err := cel.ProtoAsValue(types.DefaultTypeAdapter, wanted)
	if err != nil {
		return false
	}
	a, errA := encode(encodeValue(value))
	b, errB := encode(got)
	return errA == nil && errB == nil && string(a) == string(b)
}

// printSpec prints a table for the README.
func printSpec(all []*specFile) {
	fmt.Println("| file | total | inside | same as the specification | refused when compiled | other | outside, and why |")
	fmt.Println("|---|---|---|---|---|---|---|")
	sum := specFile{name: "**all**", outside: map[string]int{}}
	for _, f := range all {
		sum.total += f.total
		sum.inside += f.inside
		sum.agrees += f.agrees
		sum.refused += f.refused
		sum.differs += f.differs
		for why, n := range f.outside {
			sum.outside[why] += n
		}
	}
	for _, f := range append(all, &sum) {
		var whys []string
		for why, n := range f.outside {
			whys = append(whys, fmt.Sprintf("%d %s", n, why))
		}
		sort.Strings(whys)
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %s |\n", f.name, f.total, f.inside, f.agrees, f.refused, f.differs, strings.Join(whys, ", "))
	}
}
