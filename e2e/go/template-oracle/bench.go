package main

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"
	"text/template"
)

// bench measures what Go takes to parse and to render the template that benches/template.rs measures.
func bench(args []string) error {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	folder := flags.String("folder", "../../../tests/template", "where the template is")
	if err := flags.Parse(args); err != nil {
		return err
	}
	functions, err := readFunctions(*folder + "/node.json")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(*folder + "/bench.tmpl")
	if err != nil {
		return err
	}
	parse := func() *template.Template {
		return template.Must(template.New("user-data").Funcs(functions).Parse(string(text)))
	}
	parsed := parse()
	figures := map[string]float64{
		"parse": nanoseconds(func() { parse() }),
		"render": nanoseconds(func() {
			if err := parsed.Execute(io.Discard, nil); err != nil {
				panic(err)
			}
		}),
	}
	encoder := json.NewEncoder(os.Stdout)
	return encoder.Encode(figures)
}

func nanoseconds(work func()) float64 {
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			work()
		}
	})
	return float64(result.T.Nanoseconds()) / float64(result.N)
}
