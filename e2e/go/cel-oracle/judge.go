package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
)

// release is the Kubernetes whose CEL is asked.
var release = version.MajorMinor(1, 36)

// judge compiles and evaluates as the API server's admission plugins do.
type judge struct {
	fixtures Fixtures
	plain    plugincel.Compiler
	// composed has no variables; compilers with variables are stateful and made per request.
	composed *plugincel.CompositedCompiler
	inputs   map[string]*input
}

func newJudge(fixtures Fixtures) (*judge, error) {
	composed, err := newComposed()
	if err != nil {
		return nil, err
	}
	plain := plugincel.NewCompiler(environment.MustBaseEnvSet(release))
	return &judge{fixtures: fixtures, plain: plain, composed: composed, inputs: map[string]*input{}}, nil
}

func newComposed() (*plugincel.CompositedCompiler, error) {
	return plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(release))
}

func (j *judge) answer(r Request) (answer Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = Answer{ID: r.ID, Panic: fmt.Sprint(cause)}
		}
	}()
	answer, err := j.judge(r)
	answer.ID = r.ID
	if err != nil {
		answer.BadRequest = err.Error()
	}
	return answer
}

func (j *judge) judge(r Request) (answer Answer, err error) {
	name := r.Context
	if name == "" {
		name = "any"
	}
	where, known := places[name]
	if !known {
		return answer, fmt.Errorf("no context %q", name)
	}
	compiler, composed, variables, err := j.compiler(r, where)
	if err != nil {
		return answer, err
	}
	answer.Variables = variables

	result := compiler.CompileCELExpression(expression{r.Expr, where.returns}, where.declarations(r.Params), environment.StoredExpressions)
	if result.Error != nil {
		answer.CompileError = result.Error.Error()
		return answer, nil
	}
	answer.StaticType = result.OutputType.String()

	in, err := j.input(r)
	if err != nil {
		return answer, err
	}
	ctx := context.Background()
	if composed != nil {
		ctx = composed.CreateContext(ctx)
	}
	j.evaluate(ctx, r, where, in, result, &answer)
	if where.mutation != noMutation && answer.Error == "" {
		mutate(ctx, where, in, result, &answer)
	}
	return answer, nil
}

// compiler picks the compiler of the place. With variables it is a fresh one that knows them.
func (j *judge) compiler(r Request, where place) (plugincel.Compiler, *plugincel.CompositedCompiler, []VariableAnswer, error) {
	switch {
	case where.composition == neverComposed, where.composition == composedIfVariables && len(r.Variables) == 0:
		return j.plain, nil, nil, nil
	case len(r.Variables) == 0:
		return j.composed, j.composed, nil, nil
	}
	composed, err := newComposed()
	if err != nil {
		return nil, nil, nil, err
	}
	var answers []VariableAnswer
	for _, v := range r.Variables {
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		result := composed.CompileAndStoreVariable(variable, variableDeclarations(r.Params), environment.StoredExpressions)
		answer := VariableAnswer{Name: v.Name}
		if result.Error != nil {
			answer.CompileError = result.Error.Error()
		} else {
			answer.StaticType = result.OutputType.String()
		}
		answers = append(answers, answer)
	}
	return composed, composed, answers, nil
}

// evaluate runs the one expression with the budget of its place; the cost is what the budget lost.
func (j *judge) evaluate(ctx context.Context, r Request, where place, in *input, result plugincel.CompilationResult, answer *Answer) {
	budget := where.budget
	if r.Budget != 0 {
		budget = r.Budget
	}
	evaluator := plugincel.NewCondition([]plugincel.CompilationResult{result})
	results, remaining, err := evaluator.ForInput(ctx, in.attributes, in.request, in.optional(where, r), in.namespace(where), budget)
	if err != nil {
		answer.Error = err.Error()
		answer.OutOfBudget = true
		return
	}
	cost := budget - remaining
	answer.Cost = &cost
	if results[0].Error != nil {
		answer.Error = results[0].Error.Error()
		return
	}
	answer.Value = encodeValue(results[0].EvalResult)
}
