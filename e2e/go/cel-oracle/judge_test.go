package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const data = "../../../tests/cel"

// What surprised us in Kubernetes 1.36; when one of these moves, so does the engine.
func TestSurprisesStillHold(t *testing.T) {
	judge := testJudge(t)
	for expr, want := range map[string]string{
		`'%e'.format([1500.0])`:                `{"string":"1.500000×10⁰³"}`,
		`'%s'.format([{'a': 1}])`:              `{"string":"{\"a\":1}"}`,
		`has(oldObject.spec)`:                  `{"bool":false}`,
		`oldObject.spec`:                       `no such key: spec`,
		`oldObject.?spec`:                      `{"optional":null}`,
		`string(1e21)`:                         `{"string":"1e+21"}`,
		`string(duration('1h30m'))`:            `{"string":"5400s"}`,
		`1 < 1.5`:                              `{"bool":true}`,
		`1 == 1u`:                              `found no matching overload for '_==_' applied to '(int, uint)'`,
		`[1, 'a']`:                             `expected type 'int' but found 'string'`,
		`object.v.one + 1`:                     `{"int":"2"}`,
		`type(object.v.one) == int`:            `{"bool":true}`,
		`request.object`:                       `undefined field 'object'`,
		`math.greatest(1, 2)`:                  `undeclared reference to 'math'`,
		`[1].existsOne(x, true)`:               `undeclared reference to 'existsOne'`,
		`true ? has(object.?nope.one) : false`: `{"optional":null}`,
		`{b'a': 1}`:                            `hash of unhashable type types.Bytes`,
	} {
		answer := judge.answer(Request{Expr: expr, Bindings: []byte(`"values"`)})
		text, err := encode(answer)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), want) && !strings.Contains(answer.CompileError+answer.Error, want) {
			t.Errorf("%s: %s, but wanted %s", expr, text, want)
		}
	}
}

// The committed vectors are what this program writes: twice in a row, and today.
func TestVectorsAreCurrent(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(data, "expressions", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no expressions: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		t.Run(name, func(t *testing.T) {
			if name == "budget" && testing.Short() {
				t.Skip("spends whole budgets")
			}
			requests, err := readExpressions(file)
			if err != nil {
				t.Fatal(err)
			}
			fresh := filepath.Join(t.TempDir(), "fresh.jsonl")
			if _, err := writeVectors(testJudge(t), requests, fresh); err != nil {
				t.Fatal(err)
			}
			assertSameFile(t, filepath.Join(data, "vectors", name+".jsonl"), fresh)
		})
	}
}

func testJudge(t *testing.T) *judge {
	t.Helper()
	fixtures, err := readFixtures(filepath.Join(data, "bindings"))
	if err != nil {
		t.Fatal(err)
	}
	judge, err := newJudge(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	return judge
}

func assertSameFile(t *testing.T, committed, fresh string) {
	t.Helper()
	want, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(fresh)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(want, got) {
		return
	}
	wanted, written := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range wanted {
		if i >= len(written) || wanted[i] != written[i] {
			t.Fatalf("line %d of %s is no longer what the API server says; run `go run . vectors`\n%s", i+1, committed, wanted[i])
		}
	}
	t.Fatalf("%s lacks lines; run `go run . vectors`", committed)
}

// The README of the data tells the number of vectors of each list.
func TestReadmeCountsRight(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(data, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(data, "vectors", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	counts, all := map[string]int{}, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		if strings.HasPrefix(name, "spec-") {
			name = "spec-*"
		}
		n := bytes.Count(text, []byte("\n"))
		counts[name] += n
		all += n
	}
	rows := []string{fmt.Sprintf("| **all** | **%d** |", all)}
	for name, n := range counts {
		rows = append(rows, fmt.Sprintf("| `%s` | %d |", name, n))
	}
	for _, row := range rows {
		if !bytes.Contains(readme, []byte(row)) {
			t.Errorf("README.md lacks %s", row)
		}
	}
}
