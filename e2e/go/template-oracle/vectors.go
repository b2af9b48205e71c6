package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// What a list writes for characters that would break its lines.
var unescape = strings.NewReplacer("⏎", "\n", "⇥", "\t", "␍", "\r", "␀", "\x00", "␛", "\x1b")

type vector struct {
	request
	answer
}

// vectors asks all lists of cases, and writes what came of them.
func vectors(args []string) error {
	flags := flag.NewFlagSet("vectors", flag.ExitOnError)
	folder := flags.String("folder", "../../../tests/template", "where cases, data and vectors are")
	if err := flags.Parse(args); err != nil {
		return err
	}
	functions, err := readFunctions(filepath.Join(*folder, "node.json"))
	if err != nil {
		return err
	}
	lists, err := filepath.Glob(filepath.Join(*folder, "cases", "*.txt"))
	if err != nil {
		return err
	}
	total := 0
	for _, list := range lists {
		count, err := ask(*folder, list, functions)
		if err != nil {
			return fmt.Errorf("%s: %w", list, err)
		}
		total += count
	}
	fmt.Printf("%d templates in %d lists\n", total, len(lists))
	return nil
}

func ask(folder, list string, functions template.FuncMap) (int, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return 0, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	var settings request
	count := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if words, found := strings.CutPrefix(line, "#! "); found {
			settings = read(words)
			continue
		}
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		r := settings
		r.Template = unescape.Replace(line)
		data, err := fixture(folder, r.Data)
		if err != nil {
			return 0, err
		}
		if err := encoder.Encode(vector{r, r.answer(data, functions)}); err != nil {
			return 0, err
		}
		count++
	}
	name := strings.TrimSuffix(filepath.Base(list), ".txt") + ".jsonl"
	return count, os.WriteFile(filepath.Join(folder, "vectors", name), out.Bytes(), 0o644)
}

// read reads `data=… name=… missingkey=…`.
func read(words string) request {
	var r request
	for word := range strings.FieldsSeq(words) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "data":
			r.Data, _ = json.Marshal(value)
		case "name":
			r.Name = value
		case "missingkey":
			r.MissingKey = value
		}
	}
	return r
}

func fixture(folder string, name json.RawMessage) (any, error) {
	if len(name) == 0 {
		return nil, nil
	}
	var file string
	if err := json.Unmarshal(name, &file); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(folder, "data", file+".json"))
	if err != nil {
		return nil, err
	}
	return decode(text)
}
