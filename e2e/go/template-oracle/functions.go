package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"text/template"
)

type object struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// node is what metadata templates speak of.
type node struct {
	Index            int    `json:"index"`
	Namespace        string `json:"namespace"`
	ClusterName      string `json:"clusterName"`
	Machine          object `json:"machine"`
	Metal3Machine    object `json:"metal3Machine"`
	Metal3MachineUID string `json:"metal3MachineUID"`
	Host             struct {
		object
		NICs    map[string]string `json:"nics"`
		BootMAC string            `json:"bootMAC"`
	} `json:"host"`
}

// readFunctions gives the functions of metadata templates, bound to the node of a file.
func readFunctions(file string) (template.FuncMap, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var n node
	if err := json.Unmarshal(text, &n); err != nil {
		return nil, err
	}
	return n.functions(), nil
}

func (n *node) functions() template.FuncMap {
	value := func(of string) func() string { return func() string { return of } }
	entry := func(of map[string]string) func(string) string { return func(key string) string { return of[key] } }
	return template.FuncMap{
		"getIndex":                func() int { return n.Index },
		"getIndexWithOffset":      func(offset int) int { return n.Index + offset },
		"machineName":             value(n.Machine.Name),
		"machineLabel":            entry(n.Machine.Labels),
		"machineAnnotation":       entry(n.Machine.Annotations),
		"metal3MachineName":       value(n.Metal3Machine.Name),
		"metal3MachineUID":        value(n.Metal3MachineUID),
		"metal3MachineLabel":      entry(n.Metal3Machine.Labels),
		"metal3MachineAnnotation": entry(n.Metal3Machine.Annotations),
		"hostName":                value(n.Host.Name),
		"hostLabel":               entry(n.Host.Labels),
		"hostAnnotation":          entry(n.Host.Annotations),
		"hostMAC":                 n.hostMAC,
		"bootMAC":                 value(n.Host.BootMAC),
		"namespace":               value(n.Namespace),
		"clusterName":             value(n.ClusterName),
		// The rest is what Sprig does, written again: the standard library is all that this program is made of.
		"lower":      strings.ToLower,
		"upper":      strings.ToUpper,
		"trim":       strings.TrimSpace,
		"trimPrefix": func(prefix, text string) string { return strings.TrimPrefix(text, prefix) },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"replace":    func(old, new, text string) string { return strings.ReplaceAll(text, old, new) },
		"trunc":      truncate,
		"default":    orDefault,
		"quote":      quote,
		"contains":   func(part, text string) bool { return strings.Contains(text, part) },
		"hasPrefix":  func(prefix, text string) bool { return strings.HasPrefix(text, prefix) },
		"hasSuffix":  func(suffix, text string) bool { return strings.HasSuffix(text, suffix) },
	}
}

func (n *node) hostMAC(nic string) (string, error) {
	if mac, known := n.Host.NICs[nic]; known {
		return mac, nil
	}
	var names []string
	for name := range n.Host.NICs {
		names = append(names, name)
	}
	sort.Strings(names)
	return "", fmt.Errorf("host %s has no interface %q: it has %s", n.Host.Name, nic, strings.Join(names, ", "))
}

func truncate(length int, text string) string {
	if length < 0 && len(text)+length > 0 {
		return text[len(text)+length:]
	}
	if length >= 0 && len(text) > length {
		return text[:length]
	}
	return text
}

func orDefault(otherwise any, given ...any) any {
	if len(given) == 0 || given[0] == nil {
		return otherwise
	}
	if truth, _ := template.IsTrue(reflect.ValueOf(given[0]).Interface()); !truth {
		return otherwise
	}
	return given[0]
}

func quote(values ...any) string {
	var quoted []string
	for _, value := range values {
		if value != nil {
			quoted = append(quoted, fmt.Sprintf("%q", fmt.Sprint(value)))
		}
	}
	return strings.Join(quoted, " ")
}
