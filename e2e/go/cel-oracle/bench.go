package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Measure is the price of one evaluation.
type Measure struct {
	CPUNanoseconds float64 `json:"cpuNs"`
	Allocations    float64 `json:"allocations"`
	Bytes          float64 `json:"bytes"`
}

// Benchmark is one expression, measured three ways.
type Benchmark struct {
	Name string `json:"name"`
	Expr string `json:"expr"`
	Cost *int64 `json:"cost,omitempty"`
	// APIServer evaluates in Kubernetes' environment, with cost tracking and interrupt checks, on a prepared object.
	APIServer Measure `json:"apiserver"`
	// Request adds what the API server does for each request and policy: converting the object and the request.
	Request Measure `json:"apiserverRequest"`
	// Bare is cel-go alone: optimised, without tracking.
	Bare Measure `json:"bare"`
}

// Report is what bench prints.
type Report struct {
	Go          string      `json:"go"`
	ObjectBytes int         `json:"objectBytes"`
	Decode      Measure     `json:"decodeObject"`
	Benchmarks  []Benchmark `json:"benchmarks"`
	// Rules is the sum over all whose name starts with "rule-".
	Rules Benchmark `json:"rules"`
}

// bench measures DIR/bench.json on DIR/baremetalhost.json.
func bench(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	dir := flags.String("dir", "../../../tests/cel", "directory of bench.json and baremetalhost.json")
	repeats := flags.Int("repeats", 7, "measurements, of which the median counts")
	iterations := flags.Int("iterations", 20000, "evaluations in a measurement")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// One processor, so that what the collector does on the side is counted and nothing else is.
	runtime.GOMAXPROCS(1)
	text, err := os.ReadFile(filepath.Join(*dir, "baremetalhost.json"))
	if err != nil {
		return err
	}
	var compact json.RawMessage
	if compact, err = compactJSON(text); err != nil {
		return err
	}
	rules, err := os.ReadFile(filepath.Join(*dir, "bench.json"))
	if err != nil {
		return err
	}
	report := Report{Go: runtime.Version(), ObjectBytes: len(compact), Rules: Benchmark{Name: "rules"}}
	if err := json.Unmarshal(rules, &report.Benchmarks); err != nil {
		return err
	}
	report.Decode, err = measure(*repeats, *iterations/20, func() error {
		content := map[string]any{}
		return utiljson.Unmarshal(compact, &content)
	})
	if err != nil {
		return err
	}
	for i := range report.Benchmarks {
		b := &report.Benchmarks[i]
		if err := b.run(compact, *repeats, *iterations); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		if strings.HasPrefix(b.Name, "rule-") {
			report.Rules.APIServer.add(b.APIServer)
			report.Rules.Request.add(b.Request)
			report.Rules.Bare.add(b.Bare)
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(report)
}

func (m *Measure) add(other Measure) {
	m.CPUNanoseconds += other.CPUNanoseconds
	m.Allocations += other.Allocations
	m.Bytes += other.Bytes
}

func (b *Benchmark) run(object []byte, repeats, iterations int) error {
	judge, err := newJudge(Fixtures{})
	if err != nil {
		return err
	}
	bindings, err := json.Marshal(Bindings{Object: object})
	if err != nil {
		return err
	}
	request := Request{Expr: b.Expr, Context: "validation", Bindings: bindings}
	answer := judge.answer(request)
	if answer.Value == nil || (*answer.Value)["bool"] != true {
		return fmt.Errorf("not true, but %+v", answer)
	}
	b.Cost = answer.Cost

	where := places["validation"]
	result := judge.plain.CompileCELExpression(expression{b.Expr, where.returns}, where.declarations(false), environment.StoredExpressions)
	in, err := judge.input(request)
	if err != nil {
		return err
	}
	content := in.object.Object
	activation := map[string]any{"object": content}
	b.APIServer, err = measure(repeats, iterations, func() error {
		_, _, err := result.Program.ContextEval(context.Background(), activation)
		return err
	})
	if err != nil {
		return err
	}
	evaluator := plugincel.NewCondition([]plugincel.CompilationResult{result})
	b.Request, err = measure(repeats, iterations/10, func() error {
		_, _, err := evaluator.ForInput(context.Background(), in.attributes, in.request, in.optional(where, request), nil, where.budget)
		return err
	})
	if err != nil {
		return err
	}
	bare, err := bareProgram(b.Expr)
	if err != nil {
		return err
	}
	b.Bare, err = measure(repeats, iterations, func() error {
		_, _, err := bare.Eval(activation)
		return err
	})
	return err
}

// bareProgram compiles with cel-go alone, as fast as it can be asked to.
func bareProgram(text string) (cel.Program, error) {
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType), cel.OptionalTypes(), ext.Strings(), ext.Lists())
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(ast, cel.EvalOptions(cel.OptOptimize))
}

// measure gives the median of the repeats, per call. Processor time does not grow when others use the machine.
func measure(repeats, iterations int, call func() error) (Measure, error) {
	if err := call(); err != nil {
		return Measure{}, err
	}
	var times []float64
	var result Measure
	for range repeats {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := processorTime()
		for range iterations {
			if err := call(); err != nil {
				return Measure{}, err
			}
		}
		spent := processorTime() - start
		runtime.ReadMemStats(&after)
		times = append(times, float64(spent)/float64(iterations))
		result.Allocations = float64(after.Mallocs-before.Mallocs) / float64(iterations)
		result.Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(iterations)
	}
	slices.Sort(times)
	result.CPUNanoseconds = times[len(times)/2]
	return result, nil
}

func processorTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func compactJSON(text []byte) ([]byte, error) {
	var object unstructured.Unstructured
	if err := json.Unmarshal(text, &object.Object); err != nil {
		return nil, err
	}
	return json.Marshal(object.Object)
}
