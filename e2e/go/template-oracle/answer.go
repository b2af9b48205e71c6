package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"text/template"
)

// request is a template and what it is rendered with.
type request struct {
	// Name is the template's name; "t" unless given.
	Name     string `json:"name,omitempty"`
	Template string `json:"template"`
	// Data is what dot is, or in a vector the name of a file of data.
	Data json.RawMessage `json:"data,omitempty"`
	// MissingKey is the option of that name.
	MissingKey string `json:"missingkey,omitempty"`
}

// answer is what came of it: one of the three.
type answer struct {
	Output *string `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
	// Huge says that there is more output than anyone wants to compare.
	Huge bool `json:"huge,omitempty"`
}

const mostOutput = 4 << 20

var errHuge = errors.New("too much output")

type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostOutput {
		return 0, errHuge
	}
	return b.Buffer.Write(p)
}

func (r request) answer(data any, functions template.FuncMap) answer {
	name := r.Name
	if name == "" {
		name = "t"
	}
	t := template.New(name).Funcs(functions)
	if r.MissingKey != "" {
		t.Option("missingkey=" + r.MissingKey)
	}
	if _, err := t.Parse(r.Template); err != nil {
		return answer{Error: err.Error()}
	}
	var out bounded
	err := t.Execute(&out, data)
	switch {
	case errors.Is(err, errHuge):
		return answer{Huge: true}
	case err != nil:
		return answer{Error: err.Error()}
	}
	text := out.String()
	return answer{Output: &text}
}

// decode makes Go's values of JSON as Ironward makes its own: a number without point and exponent is an int if it
// fits, any other a float64; a list has no more capacity than items.
func decode(text []byte) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return convert(value), nil
}

func convert(value any) any {
	switch value := value.(type) {
	case json.Number:
		if number, err := value.Int64(); err == nil && !strings.HasPrefix(value.String(), "-0") {
			return int(number)
		}
		number, _ := value.Float64()
		return number
	case []any:
		list := make([]any, len(value))
		for i, item := range value {
			list[i] = convert(item)
		}
		return list
	case map[string]any:
		for key, item := range value {
			value[key] = convert(item)
		}
		return value
	}
	return value
}
