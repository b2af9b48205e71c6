package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// generate writes the lists that follow from tables: every operator on every pair of types, every conversion of every
// value, every overload of the environment.
func generate(args []string) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	dir := flags.String("dir", "../../../tests/cel", "directory of expressions")
	if err := flags.Parse(args); err != nil {
		return err
	}
	overloads, err := generateOverloads()
	if err != nil {
		return err
	}
	lists := map[string][]string{
		"generated-operators":   generateOperators(),
		"generated-unary":       generateUnary(),
		"generated-conversions": generateConversions(),
		"generated-overloads":   overloads,
	}
	for name, lines := range lists {
		text := "# Written by `cel-oracle generate`: edit the tables there, not this file.\n" + strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(*dir, "expressions", name+".txt"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// one sample of each type of value.
var samples = []struct{ name, text string }{
	{"int", "7"}, {"uint", "7u"}, {"double", "7.5"}, {"string", "'abc'"}, {"bytes", "b'abc'"}, {"bool", "true"}, {"null", "null"},
	{"list", "[7]"}, {"map", "{'abc': 7}"}, {"duration", "duration('90s')"}, {"timestamp", "timestamp('2026-03-14T09:26:53Z')"},
	{"type", "int"}, {"optional", "optional.of(7)"}, {"ip", "ip('192.0.2.1')"},
}

func dynOf(text string) string { return "dyn(" + text + ")" }

// generateOperators pairs every sample with every other: checked, with both sides dyn, and with one side dyn.
func generateOperators() []string {
	var lines []string
	everywhere := []string{"+", "==", "!=", "<", "in"}
	arithmetic := []string{"-", "*", "/", "%"}
	ordered := []string{"<=", ">", ">="}
	logical := []string{"&&", "||"}
	numeric := []string{"int", "uint", "double"}
	counted := []string{"int", "uint", "double", "string", "duration", "timestamp"}
	add := func(format string, a, op, b string) { lines = append(lines, fmt.Sprintf(format, a, op, b)) }
	for _, a := range samples {
		for _, b := range samples {
			for _, op := range everywhere {
				add("%s %s %s", a.text, op, b.text)
				add("%s %s %s", dynOf(a.text), op, dynOf(b.text))
			}
			if a == b || slices.Contains(counted, a.name) && slices.Contains(counted, b.name) {
				for _, op := range arithmetic {
					add("%s %s %s", a.text, op, b.text)
					add("%s %s %s", dynOf(a.text), op, dynOf(b.text))
				}
			}
			if a == b || slices.Contains(numeric, a.name) && slices.Contains(numeric, b.name) {
				for _, op := range ordered {
					add("%s %s %s", a.text, op, b.text)
					add("%s %s %s", dynOf(a.text), op, dynOf(b.text))
				}
			}
			if a == b || a.name == "bool" || b.name == "bool" {
				for _, op := range logical {
					add("%s %s %s", a.text, op, b.text)
					add("%s %s %s", dynOf(a.text), op, dynOf(b.text))
				}
			}
			if a == b {
				for _, op := range slices.Concat(everywhere, arithmetic, ordered, logical) {
					add("%s %s %s", dynOf(a.text), op, b.text)
					add("%s %s %s", a.text, op, dynOf(b.text))
				}
			}
		}
	}
	return lines
}

// generateUnary puts every sample under every unary operator, as condition, index, receiver and range.
func generateUnary() []string {
	var lines []string
	formats := []string{
		"-%s", "!%s", "%s ? 1 : 2", "[1, 2, 3][%s]", "{'abc': 1}[%s]", "{7: 1}[%s]", "[1, 2, 3][?%s]", "{'abc': 1}[?%s]",
		"%s[0]", "%s['abc']", "%s.abc", "%s.?abc", "%s[?0]", "has(%s.abc)", "size(%s)", "%s.size()", "type(%s)", "dyn(%s)",
		"%s.all(x, true)", "%s.exists(x, true)", "%s.exists_one(x, true)", "%s.map(x, x)", "%s.filter(x, true)", "%s.all(i, v, true)",
		"%s.transformList(i, v, v)", "%s.transformMap(i, v, v)", "%s.sortBy(x, x)", "[%s].sort()", "[%s].map(x, x)[0] == %s",
		"optional.of(%s)", "optional.ofNonZeroValue(%s)", "%s.optMap(x, x)", "%s.orValue(1)", "%s.hasValue()", "%s.value()",
		"[?%s]", "{?'a': %s}", "{%s: 1}", "'%%s'.format([%s])", "'%%d'.format([%s])", "%s in [%s]", "%s in {'abc': 7}", "[%s] == [%s]", "{'a': %s} == {'a': %s}",
		"sets.contains([%s], [%s])", "[%s, %s].distinct()", "[%s].indexOf(%s)", "[%s].isSorted()", "[%s].max()", "[%s].sum()",
	}
	for _, format := range formats {
		for _, s := range samples {
			for _, text := range []string{s.text, dynOf(s.text)} {
				n := strings.Count(strings.ReplaceAll(format, "%%", ""), "%s")
				values := make([]any, n)
				for i := range values {
					values[i] = text
				}
				lines = append(lines, fmt.Sprintf(format, values...))
			}
		}
	}
	return lines
}

// conversion values: the limits of each type and what just misses them.
var convertible = []string{
	"0", "1", "-1", "42", "9223372036854775807", "-9223372036854775808", "253402300799", "253402300800", "-62135596800", "-62135596801",
	"0u", "1u", "42u", "9223372036854775807u", "9223372036854775808u", "18446744073709551615u",
	"0.0", "-0.0", "0.4", "0.5", "0.6", "1.5", "-1.5", "2.5", "1e3", "1e15", "123456.789", "1e20", "1e21", "1e-5", "1e-7", "9007199254740993.0",
	"9223372036854774784.0", "9223372036854775807.0", "-9223372036854775808.0", "-9223372036854777856.0", "18446744073709549568.0", "18446744073709551615.0", "1e308", "double('NaN')", "double('Infinity')", "double('-Infinity')",
	"''", "'0'", "'1'", "'-1'", "'+1'", "' 1'", "'1 '", "'0x1F'", "'010'", "'1_000'", "'1.0'", "'1.5'", "'.5'", "'5.'", "'1e3'", "'1e400'", "'-0'", "'NaN'", "'nan'", "'Inf'", "'Infinity'", "'-Infinity'", "'+Inf'", "'1u'",
	"'9223372036854775807'", "'9223372036854775808'", "'-9223372036854775808'", "'18446744073709551615'", "'18446744073709551616'",
	"'true'", "'false'", "'True'", "'TRUE'", "'t'", "'T'", "'f'", "'tRuE'", "'yes'", "'on'", "'abc'", "'é☃😀'", "'\\u0000'",
	"'1s'", "'1h30m'", "'-1.5h'", "'1ms'", "'1us'", "'1µs'", "'1ns'", "'0'", "'1d'", "'100000h'", "'2562047h47m16.854775807s'", "'2562047h47m16.854775808s'", "'315576000000s'", "'1.5'", "'1h1'", "'.5s'", "'+1s'", "'1S'",
	"'2026-03-14T09:26:53Z'", "'2026-03-14T09:26:53.123456789Z'", "'2026-03-14T09:26:53.1Z'", "'2026-03-14T09:26:53+02:00'", "'2026-03-14T09:26:53-23:59'", "'2026-03-14t09:26:53z'", "'2026-03-14'", "'0001-01-01T00:00:00Z'", "'9999-12-31T23:59:59.999999999Z'", "'9999-12-31T23:59:59-01:00'", "'0000-01-01T00:00:00Z'", "'2026-02-29T00:00:00Z'", "'2024-02-29T00:00:00Z'", "'2026-03-14T24:00:00Z'", "'2026-03-14T23:59:60Z'", "'2026-03-14T09:26:53,5Z'", "'2026-03-14 09:26:53Z'",
	"b''", "b'abc'", "b'\\xff'", "b'\\xe2\\x98\\x83'", "b'1'", "true", "false", "null", "[]", "[1]", "{}", "{'a': 1}",
	"duration('0s')", "duration('90s')", "duration('-1h30m0.5s')", "duration('1ns')", "duration('1500ms')",
	"timestamp('2026-03-14T09:26:53Z')", "timestamp('2026-03-14T09:26:53.5+02:00')", "timestamp('1970-01-01T00:00:00Z')", "timestamp('0001-01-01T00:00:00Z')", "timestamp('9999-12-31T23:59:59Z')",
	"int", "optional.of(1)", "optional.none()", "ip('192.0.2.1')", "cidr('192.0.2.0/24')", "url('https://example.org/a')", "quantity('1Ki')", "semver('1.2.3')",
}

// generateConversions converts every value: as a constant, which is folded when compiled, and, through an index, at run time.
func generateConversions() []string {
	var lines []string
	for _, value := range convertible {
		for _, function := range []string{"int", "uint", "double", "string", "bytes", "bool", "duration", "timestamp"} {
			lines = append(lines, fmt.Sprintf("%s(%s)", function, value), fmt.Sprintf("%s(dyn([%s])[0])", function, value))
		}
		lines = append(lines, fmt.Sprintf("type([%s][0])", value))
	}
	return lines
}

// arguments for a type, typical first; the last ones are awkward.
var arguments = map[string][]string{
	"int": {"2", "0", "-1"}, "uint": {"2u", "0u"}, "double": {"2.5", "-0.5"}, "bool": {"true", "false"}, "null_type": {"null"},
	"string": {"'ab'", "''", "'é☃😀'"}, "bytes": {"b'ab'", "b''"}, "dyn": {"dyn(2)", "dyn('ab')"}, "type": {"int"},
	"google.protobuf.Duration":                {"duration('90s')", "duration('-1ms')"},
	"google.protobuf.Timestamp":               {"timestamp('2026-03-14T09:26:53.25Z')", "timestamp('1969-12-31T23:59:59Z')"},
	"net.IP":                                  {"ip('192.0.2.1')", "ip('::1')"},
	"net.CIDR":                                {"cidr('192.0.2.0/24')", "cidr('2001:db8::/32')"},
	"kubernetes.URL":                          {"url('https://user@example.org:8443/a%20b?q=1&q=2')", "url('/path/only')"},
	"kubernetes.Quantity":                     {"quantity('1500m')", "quantity('2Gi')"},
	"kubernetes.Semver":                       {"semver('1.2.3')", "semver('1.2.3-rc.1')"},
	"kubernetes.NamedFormat":                  {"format.dns1123Label()"},
	"kubernetes.authorization.Authorizer":     {"authorizer"},
	"kubernetes.authorization.PathCheck":      {"authorizer.path('/healthz')"},
	"kubernetes.authorization.GroupCheck":     {"authorizer.group('metal3.io')"},
	"kubernetes.authorization.ResourceCheck":  {"authorizer.group('metal3.io').resource('baremetalhosts')"},
	"kubernetes.authorization.Decision":       {"authorizer.path('/healthz').check('get')"},
	"list(int)":                               {"[2, 1, 3]"},
	"list(string)":                            {"['b', 'a']", "['']"},
	"list(dyn)":                               {"[dyn(2), dyn('a')]"},
	"list(optional_type(<V>))":                {"[optional.of(2), optional.none()]"},
	"optional_type(list(<V>))":                {"optional.of([2, 1])", "optional.none()"},
	"optional_type(map(<K>, <V>))":            {"optional.of({'ab': 2})"},
	"list(list(<T>))":                         {"[[2], [], [1, 3]]"},
	"list(kubernetes.authorization.Decision)": {},
	"list(google.protobuf.Duration)":          {"[duration('2s'), duration('1s')]"},
	"list(google.protobuf.Timestamp)":         {"[timestamp('2026-03-14T09:26:53Z'), timestamp('2025-03-14T09:26:53Z')]"},
	"list(bool)":                              {"[true, false]"},
	"list(bytes)":                             {"[b'b', b'a']"},
	"list(double)":                            {"[2.5, -1.0]"},
	"list(uint)":                              {"[2u, 1u]"},
}

// special arguments of functions whose strings have a meaning: the receiver, or the only argument.
var special = map[string][]string{
	"ip": {"'192.0.2.1'", "'nope'"}, "isIP": {"'2001:db8::1'", "'nope'"}, "ip.isCanonical": {"'2001:db8::1'", "'2001:DB8::1'"},
	"cidr": {"'192.0.2.0/24'", "'nope'"}, "isCIDR": {"'192.0.2.0/24'", "'nope'"}, "url": {"'https://example.org/a'", "'nope'"}, "isURL": {"'https://example.org/a'", "'nope'"},
	"quantity": {"'1500m'", "'nope'"}, "isQuantity": {"'1500m'", "'nope'"}, "semver": {"'1.2.3'", "'v1.2'"}, "isSemver": {"'1.2.3'", "'v1.2'"},
	"timestamp": {"'2026-03-14T09:26:53Z'", "'nope'"}, "duration": {"'1h30m'", "'nope'"}, "format.named": {"'dns1123Label'", "'nope'"},
}

func generateOverloads() ([]string, error) {
	env, err := mutationEnv()
	if err != nil {
		return nil, err
	}
	functions := env.Functions()
	var names []string
	for name := range functions {
		if isCallable(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	// The authorizer of these bindings has something to say.
	lines := []string{"#! bindings=values"}
	for _, name := range names {
		overloads := slices.Clone(functions[name].OverloadDecls())
		slices.SortFunc(overloads, func(a, b *decls.OverloadDecl) int { return strings.Compare(a.ID(), b.ID()) })
		for _, overload := range overloads {
			lines = append(lines, callsOf(name, overload)...)
		}
	}
	return lines, nil
}

// isCallable: operators and hidden functions have no name to call.
func isCallable(name string) bool {
	return !strings.ContainsAny(name, "_@!?[]") || name == "exists_one"
}

// callsOf calls an overload with each argument in turn varied, made dyn, and of a wrong type.
func callsOf(name string, overload *decls.OverloadDecl) []string {
	var pools [][]string
	for i, t := range overload.ArgTypes() {
		pool := argumentsOf(t)
		if i == 0 && t.Kind() == types.StringKind && special[name] != nil {
			pool = special[name]
		}
		pools = append(pools, pool)
	}
	lines := []string{fmt.Sprintf("# %s", overload.ID())}
	call := func(args []string) {
		text := name + "(" + strings.Join(args, ", ") + ")"
		if overload.IsMemberFunction() {
			text = args[0] + "." + name + "(" + strings.Join(args[1:], ", ") + ")"
		}
		lines = append(lines, text)
	}
	typical := make([]string, len(pools))
	for i, pool := range pools {
		typical[i] = pool[0]
	}
	call(typical)
	for i, pool := range pools {
		vary := func(text string) {
			args := slices.Clone(typical)
			args[i] = text
			call(args)
		}
		for _, other := range pool[1:] {
			vary(other)
		}
		vary(dynOf(typical[i]))
		vary("dyn(null)")
		vary("dyn([" + typical[i] + "])[0]")
		if overload.ArgTypes()[i].Kind() == types.StringKind {
			vary("dyn(7)")
		} else {
			vary("dyn('abc')")
		}
	}
	all := slices.Clone(typical)
	for i := range all {
		all[i] = dynOf(all[i])
	}
	if len(all) > 1 {
		call(all)
	}
	return lines
}

// argumentsOf picks from the table; a type parameter becomes an int, in whatever it stands.
func argumentsOf(t *types.Type) []string {
	if found, known := arguments[t.String()]; known && len(found) > 0 {
		return found
	}
	switch t.Kind() {
	case types.TypeParamKind:
		return []string{"2", "'ab'"}
	case types.ListKind:
		return []string{"[2, 1, 3]", "['b', 'a']", "[]"}
	case types.MapKind:
		return []string{"{'ab': 2}", "{}"}
	case types.OpaqueKind:
		return []string{"optional.of(2)", "optional.none()"}
	case types.TypeKind:
		return []string{"int"}
	case types.AnyKind, types.DynKind:
		return []string{"2", "'ab'"}
	}
	return []string{"2"}
}
