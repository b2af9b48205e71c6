package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// mutate goes the rest of the way with the value of a mutation: to the patched object, or to what would be merged.
func mutate(ctx context.Context, where place, in *input, result plugincel.CompilationResult, answer *Answer) {
	defer func() {
		if cause := recover(); cause != nil {
			answer.Panic = fmt.Sprint(cause)
		}
	}()
	if in.object == nil {
		return
	}
	catcher := &schemaCatcher{}
	request := patch.Request{
		MatchedResource:     in.attributes.GetResource(),
		VersionedAttributes: in.attributes,
		ObjectInterfaces:    unstructuredInterfaces,
		OptionalVariables:   in.optional(where, Request{}),
		Namespace:           in.namespace(where),
		TypeConverter:       catcher,
	}
	evaluator := plugincel.NewMutatingEvaluator(result)
	if where.mutation == applyConfiguration {
		_, err := patch.NewApplyConfigurationPatcher(evaluator).Patch(ctx, request, where.budget)
		if !errors.Is(err, errCaught) {
			answer.PatchError = err.Error()
		} else if isJSON(catcher.configuration) {
			answer.Configuration, err = encode(catcher.configuration)
			answer.PatchError = text(err)
		}
		return
	}
	patched, err := patch.NewJSONPatcher(evaluator).Patch(ctx, request, where.budget)
	if err == nil {
		answer.Patched, err = encode(patched.(*unstructured.Unstructured).Object)
	}
	answer.PatchError = text(err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var errCaught = errors.New("caught")

// schemaCatcher stands where the schema of the kind would: it keeps the configuration and stops there, since only the real
// schema knows which lists and maps are atomic.
type schemaCatcher struct{ configuration map[string]any }

// ObjectToTyped implements managedfields.TypeConverter.
func (s *schemaCatcher) ObjectToTyped(object runtime.Object, _ ...typed.ValidationOptions) (*typed.TypedValue, error) {
	s.configuration = object.(*unstructured.Unstructured).Object
	return nil, errCaught
}

// TypedToObject implements managedfields.TypeConverter.
func (s *schemaCatcher) TypedToObject(*typed.TypedValue) (runtime.Object, error) {
	return nil, errCaught
}

// isJSON: a configuration may hold Go values that JSON has no word for, such as a duration; the schema would refuse them.
func isJSON(v any) bool {
	switch v := v.(type) {
	case nil, bool, string, int64, float64:
		return true
	case []any:
		for _, element := range v {
			if !isJSON(element) {
				return false
			}
		}
		return true
	case map[string]any:
		for _, element := range v {
			if !isJSON(element) {
				return false
			}
		}
		return true
	}
	return false
}

// unstructuredInterfaces are those of a custom resource.
var unstructuredInterfaces = objectInterfaces{unstructuredscheme.NewUnstructuredCreator(), unstructuredscheme.NewUnstructuredObjectTyper()}

type objectInterfaces struct {
	creater runtime.ObjectCreater
	typer   runtime.ObjectTyper
}

func (o objectInterfaces) GetObjectCreater() runtime.ObjectCreater     { return o.creater }
func (o objectInterfaces) GetObjectTyper() runtime.ObjectTyper         { return o.typer }
func (o objectInterfaces) GetObjectDefaulter() runtime.ObjectDefaulter { return nil }
func (o objectInterfaces) GetObjectConvertor() runtime.ObjectConvertor { return nil }
func (o objectInterfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper {
	return nil
}
