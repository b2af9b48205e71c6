package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Vector is a line of a golden file: a request and what the API server answers.
type Vector struct {
	Request
	Answer Answer `json:"answer"`
}

// vectors asks the judge every expression of DIR/expressions and writes DIR/vectors, one file for each list.
func vectors(args []string) error {
	flags := flag.NewFlagSet("vectors", flag.ContinueOnError)
	dir := flags.String("dir", "../../../tests/cel", "directory of expressions, bindings and vectors")
	only := flags.String("only", "", "do only this list")
	if err := flags.Parse(args); err != nil {
		return err
	}
	fixtures, err := readFixtures(filepath.Join(*dir, "bindings"))
	if err != nil {
		return err
	}
	judge, err := newJudge(fixtures)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(*dir, "expressions", "*"))
	if err != nil {
		return err
	}
	sort.Strings(files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if *only != "" && name != *only {
			continue
		}
		requests, err := readExpressions(file)
		if err != nil {
			return err
		}
		count, err := writeVectors(judge, requests, filepath.Join(*dir, "vectors", name+".jsonl"))
		if err != nil {
			return err
		}
		fmt.Printf("%6d %s\n", count, name)
	}
	return nil
}

// writeVectors leaves out what was asked before; a request that cannot be read is a mistake in the list.
func writeVectors(judge *judge, requests []Request, file string) (int, error) {
	var text bytes.Buffer
	seen := map[string]bool{}
	for _, r := range requests {
		id, err := identify(r)
		if err != nil {
			return 0, err
		}
		if seen[id] {
			continue
		}
		seen[id] = true
		answer, err := judge.settled(r)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		if answer.BadRequest != "" {
			return 0, fmt.Errorf("%s: %q: %s", file, r.Expr, answer.BadRequest)
		}
		r.ID, answer.ID = id, ""
		line, err := encode(Vector{r, answer})
		if err != nil {
			return 0, err
		}
		text.Write(line)
		text.WriteByte('\n')
	}
	return len(seen), os.WriteFile(file, text.Bytes(), 0o644)
}

// How often a question is asked again, to see whether the order of a map shows, and then, to see all that it does.
// Go starts a walk through a small map at one of eight places.
const (
	doubtful = 120
	certain  = 2000
)

// settled asks until the answer is the same whatever the order in which Go walks maps: only the cost may depend on it.
func (j *judge) settled(r Request) (Answer, error) {
	var first Answer
	var least, most int64
	var err error
	asked, times := 0, doubtful
	answer := j.answers(r, func(next Answer) bool {
		if asked++; asked == 1 {
			if !loops(r) || next.Cost == nil || *next.Cost > 100_000 {
				return false
			}
			first, least, most = next, *next.Cost, *next.Cost
			return true
		}
		if next.Cost == nil {
			err = fmt.Errorf("%q is out of budget or not, by the order of a map", r.Expr)
			return false
		}
		if least, most = min(least, *next.Cost), max(most, *next.Cost); least != most {
			times = certain
		}
		next.Cost = first.Cost
		if !reflect.DeepEqual(first, next) {
			err = fmt.Errorf("%q means different things by the order of a map", r.Expr)
		}
		return err == nil && asked < times
	})
	if least != most {
		answer.Cost, answer.CostRange = nil, []int64{least, most}
	}
	return answer, err
}

var loop = regexp.MustCompile(`\.(all|exists|exists_one|existsOne|map|filter|transformList|transformMap|transformMapEntry|sortBy)\(`)

func loops(r Request) bool {
	for _, v := range r.Variables {
		if loop.MatchString(v.Expression) {
			return true
		}
	}
	return loop.MatchString(r.Expr)
}

// identify names a request by its content, so that a new line changes no other.
func identify(r Request) (string, error) {
	text, err := encode(r)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:5]), nil
}

// readExpressions reads a list: `.yaml` holds whole requests; in `.txt` each line is an expression, `#` starts a comment
// and `#! key=value …` says how the lines below it are asked.
func readExpressions(file string) ([]Request, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if filepath.Ext(file) == ".yaml" {
		var requests []Request
		err := yaml.UnmarshalStrict(text, &requests)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return requests, nil
	}
	var requests []Request
	var how Request
	for number, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#!"):
			how, err = readDirective(strings.Fields(line[2:]))
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
			}
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
		default:
			request := how
			request.Expr = line
			requests = append(requests, request)
		}
	}
	return requests, nil
}

func readDirective(words []string) (Request, error) {
	var r Request
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "context":
			r.Context = value
		case "bindings":
			name, err := json.Marshal(value)
			if err != nil {
				return r, err
			}
			r.Bindings = name
		case "params":
			r.Params = true
		case "budget":
			budget, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return r, err
			}
			r.Budget = budget
		default:
			return r, fmt.Errorf("no directive %q", key)
		}
	}
	return r, nil
}
