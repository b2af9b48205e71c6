package main

import (
	"context"
	"fmt"
	"time"

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
	// timeout ends an evaluation, if set: cel-go's tracking of cost is quadratic in the length of a loop.
	timeout time.Duration
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

// answer compiles and evaluates once.
func (j *judge) answer(r Request) Answer { return j.answers(r, func(Answer) bool { return false }) }

// answers compiles once and evaluates as long as it is told to go on; the first answer is the one given.
func (j *judge) answers(r Request, more func(Answer) bool) (answer Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			answer = Answer{Panic: fmt.Sprint(cause)}
		}
		answer.ID = r.ID
	}()
	question, answer, err := j.prepare(r)
	if err != nil {
		return Answer{BadRequest: err.Error()}
	}
	if answer.CompileError != "" {
		return answer
	}
	compiled := answer
	answer = question.evaluate(compiled)
	for next := answer; more(next); {
		next = question.evaluate(compiled)
	}
	return answer
}

// question is a request that compiled, and all that its evaluation needs.
type question struct {
	request  Request
	where    place
	in       *input
	result   plugincel.CompilationResult
	composed *plugincel.CompositedCompiler
	timeout  time.Duration
}

func (j *judge) prepare(r Request) (question, Answer, error) {
	name := r.Context
	if name == "" {
		name = "any"
	}
	q, answer := question{request: r, timeout: j.timeout}, Answer{}
	var known bool
	if q.where, known = places[name]; !known {
		return q, answer, fmt.Errorf("no context %q", name)
	}
	compiler, composed, variables, err := j.compiler(r, q.where)
	if err != nil {
		return q, answer, err
	}
	q.composed, answer.Variables = composed, variables
	q.result = compiler.CompileCELExpression(expression{r.Expr, q.where.returns}, q.where.declarations(r.Params), environment.StoredExpressions)
	if q.result.Error != nil {
		answer.CompileError = q.result.Error.Error()
		return q, answer, nil
	}
	answer.StaticType = q.result.OutputType.String()
	q.in, err = j.input(r)
	return q, answer, err
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
func (q question) evaluate(compiled Answer) (answer Answer) {
	answer = compiled
	ctx := context.Background()
	if q.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, q.timeout)
		defer cancel()
		defer func() { answer.TimedOut = limited.Err() != nil }()
		ctx = limited
	}
	if q.composed != nil {
		ctx = q.composed.CreateContext(ctx)
	}
	budget := q.where.budget
	if q.request.Budget != 0 {
		budget = q.request.Budget
	}
	evaluator := plugincel.NewCondition([]plugincel.CompilationResult{q.result})
	results, remaining, err := evaluator.ForInput(ctx, q.in.attributes, q.in.request, q.in.optional(q.where, q.request), q.in.namespace(q.where), budget)
	if err != nil {
		answer.Error = err.Error()
		answer.OutOfBudget = true
		return answer
	}
	cost := budget - remaining
	answer.Cost = &cost
	if results[0].Error != nil {
		answer.Error = results[0].Error.Error()
		return answer
	}
	answer.Value = encodeValue(results[0].EvalResult)
	if q.where.mutation != noMutation {
		mutate(ctx, q.where, q.in, q.result, &answer)
	}
	return answer
}
