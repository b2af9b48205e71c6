package main

import (
	"encoding/json"
	"fmt"
)

// Request is one question: an expression, where it stands in a policy, and what its variables are bound to.
type Request struct {
	ID string `json:"id,omitempty"`
	// Name says where the request comes from, if it is from elsewhere.
	Name    string `json:"name,omitempty"`
	Expr    string `json:"expr"`
	Context string `json:"context,omitempty"`
	// Params says that the policy has a paramKind, so that `params` is declared.
	Params    bool       `json:"params,omitempty"`
	Variables []Variable `json:"variables,omitempty"`
	// Bindings is an object (see Bindings) or the name of a fixture.
	Bindings json.RawMessage `json:"bindings,omitempty"`
	// Authorizer replaces the one of the bindings.
	Authorizer *AuthorizerTable `json:"authorizer,omitempty"`
	// Budget replaces the API server's cost budget of the context.
	Budget int64 `json:"budget,omitempty"`
}

// Variable is one entry of a policy's spec.variables.
type Variable struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Bindings are the values of the variables, as JSON on the wire.
type Bindings struct {
	Object          json.RawMessage  `json:"object,omitempty"`
	OldObject       json.RawMessage  `json:"oldObject,omitempty"`
	Request         json.RawMessage  `json:"request,omitempty"`
	Params          json.RawMessage  `json:"params,omitempty"`
	NamespaceObject json.RawMessage  `json:"namespaceObject,omitempty"`
	Authorizer      *AuthorizerTable `json:"authorizer,omitempty"`
}

// Answer is what the API server makes of a Request. Either CompileError is set, or StaticType and one of Value and Error.
type Answer struct {
	ID           string           `json:"id,omitempty"`
	StaticType   string           `json:"staticType,omitempty"`
	CompileError string           `json:"compileError,omitempty"`
	Variables    []VariableAnswer `json:"variables,omitempty"`
	Value        *Value           `json:"value,omitempty"`
	Error        string           `json:"error,omitempty"`
	// OutOfBudget: the budget is spent, so the API server evaluates no further expression of the policy; no cost is known.
	OutOfBudget bool   `json:"outOfBudget,omitempty"`
	Cost        *int64 `json:"cost,omitempty"`
	// CostRange stands instead of Cost where it depends on the order in which Go walks a map: the least and the most.
	CostRange []int64 `json:"costRange,omitempty"`
	// Patched is the object after a JSONPatch; Configuration is what an ApplyConfiguration would merge into it, by the
	// schema of its kind; PatchError says why there is neither.
	Patched       json.RawMessage `json:"patched,omitempty"`
	Configuration json.RawMessage `json:"configuration,omitempty"`
	PatchError    string          `json:"patchError,omitempty"`
	// TimedOut: the evaluation was ended by -timeout, the answer means nothing.
	TimedOut bool `json:"timedOut,omitempty"`
	// Panic: Kubernetes itself crashes here; a good engine refuses the expression instead.
	Panic string `json:"panic,omitempty"`
	// BadRequest: the question itself cannot be read.
	BadRequest string `json:"badRequest,omitempty"`
}

// VariableAnswer says how one variable compiled.
type VariableAnswer struct {
	Name         string `json:"name"`
	StaticType   string `json:"staticType,omitempty"`
	CompileError string `json:"compileError,omitempty"`
}

// Fixtures are named bindings.
type Fixtures map[string]Bindings

// bindings resolves the bindings of a request, which may be a name.
func (f Fixtures) bindings(r Request) (Bindings, error) {
	var b Bindings
	if len(r.Bindings) == 0 {
		return b, nil
	}
	if r.Bindings[0] == '"' {
		var name string
		if err := json.Unmarshal(r.Bindings, &name); err != nil {
			return b, err
		}
		named, found := f[name]
		if !found {
			return b, fmt.Errorf("no bindings named %q", name)
		}
		return named, nil
	}
	err := json.Unmarshal(r.Bindings, &b)
	return b, err
}
