package main

import (
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
)

// input is what the variables are bound to, in the Go types that the API server holds.
type input struct {
	object     *unstructured.Unstructured
	attributes *admission.VersionedAttributes
	request    *admissionv1.AdmissionRequest
	whole      *corev1.Namespace
	params     runtime.Object
	authorizer *AuthorizerTable
}

// input reads the bindings of a request; those of a fixture once.
func (j *judge) input(r Request) (*input, error) {
	key := string(r.Bindings)
	named := len(key) == 0 || key[0] == '"'
	if in, found := j.inputs[key]; found && named {
		return in, nil
	}
	bindings, err := j.fixtures.bindings(r)
	if err != nil {
		return nil, err
	}
	in, err := newInput(bindings)
	if err == nil && named {
		j.inputs[key] = in
	}
	return in, err
}

func newInput(b Bindings) (*input, error) {
	in := &input{authorizer: b.Authorizer}
	object, err := readObject("object", b.Object)
	if err != nil {
		return nil, err
	}
	old, err := readObject("oldObject", b.OldObject)
	if err != nil {
		return nil, err
	}
	params, err := readObject("params", b.Params)
	if err != nil {
		return nil, err
	}
	if params != nil {
		in.params = params
	}
	if !isNull(b.NamespaceObject) {
		var namespace corev1.Namespace
		if err := json.Unmarshal(b.NamespaceObject, &namespace); err != nil {
			return nil, fmt.Errorf("namespaceObject: %w", err)
		}
		in.whole = &namespace
	}
	in.object = object
	return in, in.readRequest(b.Request, object, old)
}

// readRequest builds the attributes of an admission request from its JSON, and from them the request that CEL sees.
func (in *input) readRequest(text json.RawMessage, object, old *unstructured.Unstructured) error {
	var request admissionv1.AdmissionRequest
	if !isNull(text) {
		if err := json.Unmarshal(text, &request); err != nil {
			return fmt.Errorf("request: %w", err)
		}
	}
	options, err := readOptions(request.Options.Raw)
	if err != nil {
		return err
	}
	info := &user.DefaultInfo{
		Name: request.UserInfo.Username, UID: request.UserInfo.UID, Groups: request.UserInfo.Groups, Extra: map[string][]string{},
	}
	for key, values := range request.UserInfo.Extra {
		info.Extra[key] = values
	}
	kind, resource := request.RequestKind, request.RequestResource
	if kind == nil {
		kind = &request.Kind
	}
	if resource == nil {
		resource = &request.Resource
	}
	attributes := admission.NewAttributesRecord(nilable(object), nilable(old), schema.GroupVersionKind(*kind),
		request.Namespace, request.Name, schema.GroupVersionResource(*resource), request.SubResource,
		admission.Operation(request.Operation), options, request.DryRun != nil && *request.DryRun, info)
	in.attributes = &admission.VersionedAttributes{
		Attributes: attributes, VersionedKind: schema.GroupVersionKind(request.Kind),
		VersionedObject: nilable(object), VersionedOldObject: nilable(old),
	}
	in.request = plugincel.CreateAdmissionRequest(attributes, request.Resource, request.Kind)
	return nil
}

// namespace gives what namespaceObject is bound to at a place.
func (in *input) namespace(where place) *corev1.Namespace {
	switch where.namespace {
	case listedNamespace:
		return plugincel.CreateNamespaceObject(in.whole)
	case wholeNamespace:
		return in.whole
	}
	return nil
}

// optional gives the optional variables that are bound at a place.
func (in *input) optional(where place, r Request) plugincel.OptionalVariableBindings {
	bound := plugincel.OptionalVariableBindings{VersionedParams: in.params}
	if where.authorizerBound {
		table := in.authorizer
		if r.Authorizer != nil {
			table = r.Authorizer
		}
		if table == nil {
			table = &AuthorizerTable{}
		}
		bound.Authorizer = table
	}
	return bound
}

// readObject reads an object as the API server does: whole numbers become int64, all others float64.
func readObject(name string, text json.RawMessage) (*unstructured.Unstructured, error) {
	if isNull(text) {
		return nil, nil
	}
	content := map[string]any{}
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// readOptions gives the options of the operation their Go type, which the API server has too.
func readOptions(text []byte) (runtime.Object, error) {
	if isNull(text) {
		return nil, nil
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return nil, fmt.Errorf("request.options: %w", err)
	}
	options := map[string]runtime.Object{
		"CreateOptions": &metav1.CreateOptions{}, "UpdateOptions": &metav1.UpdateOptions{},
		"PatchOptions": &metav1.PatchOptions{}, "DeleteOptions": &metav1.DeleteOptions{},
	}[meta.Kind]
	if options == nil {
		return nil, fmt.Errorf("request.options: no kind %q", meta.Kind)
	}
	return options, json.Unmarshal(text, options)
}

func isNull(text []byte) bool { return len(text) == 0 || string(text) == "null" }

// nilable keeps a missing object a nil interface.
func nilable(object *unstructured.Unstructured) runtime.Object {
	if object == nil {
		return nil
	}
	return object
}
