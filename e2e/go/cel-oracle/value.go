package main

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"time"
	"unsafe"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/lazy"
	"k8s.io/apiserver/pkg/cel/mutation"
	"k8s.io/apiserver/pkg/cel/mutation/dynamic"
)

// Value is a CEL value with its type spelt out: an object with the kind as its only key. README.md has the table.
type Value map[string]any

// encodeValue gives every CEL value exactly one form.
func encodeValue(v ref.Val) *Value {
	one := func(kind string, content any) *Value { return &Value{kind: content} }
	switch v := v.(type) {
	case types.Null:
		return one("null", nil)
	case types.Bool:
		return one("bool", bool(v))
	case types.Int:
		return one("int", strconv.FormatInt(int64(v), 10))
	case types.Uint:
		return one("uint", strconv.FormatUint(uint64(v), 10))
	case types.Double:
		return one("double", strconv.FormatFloat(float64(v), 'g', -1, 64))
	case types.String:
		return one("string", string(v))
	case types.Bytes:
		return one("bytes", base64.StdEncoding.EncodeToString([]byte(v)))
	case types.Duration:
		return one("duration", strconv.FormatInt(int64(v.Duration), 10))
	case types.Timestamp:
		return one("timestamp", v.UTC().Format(time.RFC3339Nano))
	case *types.Err:
		return one("error", v.Error())
	case *types.Type:
		return one("type", v.TypeName())
	case *types.Optional:
		if !v.HasValue() {
			return one("optional", nil)
		}
		return one("optional", encodeValue(v.GetValue()))
	case *dynamic.ObjectVal:
		return one("object", map[string]any{"type": v.Type().TypeName(), "fields": encodeFields(objectFields(v))})
	case *mutation.JSONPatchVal:
		fields := map[string]ref.Val{"op": types.String(v.Op), "path": types.String(v.Path), "from": types.String(v.From)}
		if v.Val != nil {
			fields["value"] = v.Val
		}
		return one("object", map[string]any{"type": v.Type().TypeName(), "fields": encodeFields(fields)})
	case *lazy.MapValue:
		return opaque(v, "variables")
	case apiservercel.IP:
		return opaque(v, v.Addr.String())
	case apiservercel.CIDR:
		return opaque(v, v.Prefix.String())
	case apiservercel.URL:
		return opaque(v, v.URL.String())
	case apiservercel.Quantity:
		return opaque(v, canonical(*v.Quantity))
	case apiservercel.Semver:
		return opaque(v, v.Version.String())
	case *apiservercel.Format:
		return opaque(v, v.Name)
	case apiservercel.Format:
		return opaque(v, v.Name)
	case traits.Lister:
		list := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			list = append(list, encodeValue(it.Next()))
		}
		return one("list", list)
	case traits.Mapper:
		return one("map", encodeMap(v))
	}
	if text, known := authorizerPiece(reflect.ValueOf(v)); known {
		return opaque(v, text)
	}
	return opaque(v, fmt.Sprintf("%T", v))
}

// canonical forgets how a quantity was written: adding nothing drops the text that it remembers.
func canonical(q resource.Quantity) string {
	q.Add(resource.Quantity{Format: q.Format})
	return q.String()
}

func opaque(v ref.Val, text string) *Value {
	return &Value{"opaque": map[string]any{"type": v.Type().TypeName(), "string": text}}
}

// encodeMap sorts by the JSON text of the keys, so that Go's order of maps never shows.
func encodeMap(m traits.Mapper) []any {
	type entry struct {
		text string
		pair []any
	}
	var entries []entry
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		encoded := encodeValue(key)
		text, err := encode(encoded)
		if err != nil {
			panic(err)
		}
		entries = append(entries, entry{string(text), []any{encoded, encodeValue(m.Get(key))}})
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].text < entries[j].text })
	pairs := []any{}
	for _, e := range entries {
		pairs = append(pairs, e.pair)
	}
	return pairs
}

func encodeFields(fields map[string]ref.Val) []any {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	pairs := []any{}
	for _, name := range names {
		pairs = append(pairs, []any{name, encodeValue(fields[name])})
	}
	return pairs
}

// objectFields reads the typed fields of an Object: its public face gives native Go values only, which forget the CEL type.
func objectFields(v *dynamic.ObjectVal) map[string]ref.Val {
	field := reflect.ValueOf(v).Elem().FieldByName("fields")
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Interface().(map[string]ref.Val)
}

// authorizerPiece spells the private values of the authorizer library: what is asked so far, or the decision.
func authorizerPiece(v reflect.Value) (string, bool) {
	if v.Kind() != reflect.Struct {
		return "", false
	}
	text := func(field string) string { return strconv.Quote(v.FieldByName(field).String()) }
	switch v.Type().Name() {
	case "authorizerVal":
		return "authorizer", true
	case "pathCheckVal":
		return "path=" + text("path"), true
	case "groupCheckVal":
		return "group=" + text("group"), true
	case "resourceCheckVal":
		group := strconv.Quote(v.FieldByName("groupCheck").FieldByName("group").String())
		return fmt.Sprintf("group=%s resource=%s subresource=%s namespace=%s name=%s fieldSelector=%s labelSelector=%s",
			group, text("resource"), text("subresource"), text("namespace"), text("name"), text("fieldSelector"), text("labelSelector")), true
	case "decisionVal":
		decision := []string{"deny", "allow", "noOpinion"}[v.FieldByName("authDecision").Int()]
		return fmt.Sprintf("decision=%s reason=%s", decision, text("reason")), true
	}
	return "", false
}
