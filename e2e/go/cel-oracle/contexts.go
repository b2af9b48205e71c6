package main

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// place is where an expression stands in a policy: what the API server declares there, wants back and binds.
type place struct {
	returns []*cel.Type
	// patchTypes: Object{}, JSONPatch{} and jsonpatch.escapeKey exist.
	patchTypes bool
	// authorizer is declared, bound: not the same in audit annotations.
	authorizerDeclared, authorizerBound bool
	// composition: 'variables' exists, never, when the policy has some, or always.
	composition composition
	// namespace: what namespaceObject is bound to.
	namespace namespaceKind
	budget    int64
	mutation  mutationKind
}

type namespaceKind int

const (
	// noNamespace: null, whatever the request.
	noNamespace namespaceKind = iota
	// listedNamespace: only the fields that the type has, and a few more that the copy keeps.
	listedNamespace
	// wholeNamespace: all that is stored, managedFields among it; reachable through dyn(namespaceObject).
	wholeNamespace
)

type composition int

const (
	neverComposed composition = iota
	composedIfVariables
	alwaysComposed
)

type mutationKind int

const (
	noMutation mutationKind = iota
	applyConfiguration
	jsonPatch
)

// places mirrors what the API server does when a policy is created (which `variables` exist) and when it is evaluated
// (what is bound). `any` is a validation, and `anyPatch` a mutation, that may return whatever it likes.
var places = map[string]place{
	"validation": {
		returns:            []*cel.Type{cel.BoolType},
		authorizerDeclared: true, authorizerBound: true,
		composition: composedIfVariables, namespace: listedNamespace, budget: celconfig.RuntimeCELCostBudget,
	},
	"matchCondition": {
		returns:            []*cel.Type{cel.BoolType},
		authorizerDeclared: true, authorizerBound: true,
		composition: neverComposed, namespace: noNamespace, budget: celconfig.RuntimeCELCostBudgetMatchConditions,
	},
	"messageExpression": {
		returns:     []*cel.Type{cel.StringType},
		composition: composedIfVariables, namespace: listedNamespace, budget: celconfig.RuntimeCELCostBudget,
	},
	"auditAnnotation": {
		returns:            []*cel.Type{cel.StringType, cel.NullType},
		authorizerDeclared: true, authorizerBound: false,
		composition: composedIfVariables, namespace: wholeNamespace, budget: celconfig.RuntimeCELCostBudget,
	},
	"mutationApply": {
		returns: []*cel.Type{types.NewObjectType("Object")}, patchTypes: true,
		authorizerDeclared: true, authorizerBound: true,
		composition: alwaysComposed, namespace: wholeNamespace, budget: celconfig.RuntimeCELCostBudget, mutation: applyConfiguration,
	},
	"mutationPatch": {
		returns: []*cel.Type{cel.ListType(types.NewObjectType("JSONPatch"))}, patchTypes: true,
		authorizerDeclared: true, authorizerBound: true,
		composition: alwaysComposed, namespace: wholeNamespace, budget: celconfig.RuntimeCELCostBudget, mutation: jsonPatch,
	},
	"any": {
		returns:            []*cel.Type{cel.AnyType},
		authorizerDeclared: true, authorizerBound: true,
		composition: composedIfVariables, namespace: listedNamespace, budget: celconfig.RuntimeCELCostBudget,
	},
	"anyPatch": {
		returns: []*cel.Type{cel.AnyType}, patchTypes: true,
		authorizerDeclared: true, authorizerBound: true,
		composition: alwaysComposed, namespace: wholeNamespace, budget: celconfig.RuntimeCELCostBudget,
	},
}

func (p place) declarations(params bool) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: p.authorizerDeclared, HasPatchTypes: p.patchTypes}
}

// variableDeclarations are those of spec.variables: never with the patch types, always with the authorizer.
func variableDeclarations(params bool) plugincel.OptionalVariableDeclarations {
	return plugincel.OptionalVariableDeclarations{HasParams: params, HasAuthorizer: true}
}

type expression struct {
	text    string
	returns []*cel.Type
}

func (e expression) GetExpression() string    { return e.text }
func (e expression) ReturnTypes() []*cel.Type { return e.returns }
