// promql-oracle says what Prometheus makes of expressions and alerting rules. README.md has the format.
package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

type request struct {
	Interval    float64  `json:"interval"`
	Series      []notes  `json:"series"`
	Scrapes     []scrape `json:"scrapes"`
	Rules       string   `json:"rules"`
	Looks       []int64  `json:"looks"`
	Expressions []string `json:"expressions"`
	At          int64    `json:"at"`
}

type answer struct {
	Error       string       `json:"error,omitempty"`
	Rules       []ruleAnswer `json:"rules"`
	Looks       []look       `json:"looks"`
	Expressions []evaluated  `json:"expressions"`
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fmt.Fprintln(os.Stderr, "the request cannot be read:", err)
		os.Exit(1)
	}
	given, err := asked.answer()
	if err != nil {
		given = answer{Error: err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (r *request) answer() (answer, error) {
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: slog.New(slog.DiscardHandler), MaxSamples: 50_000_000, Timeout: time.Minute, Parser: p,
		EnableAtModifier: true, EnableNegativeOffset: true,
	})
	stored := newStore()
	for _, each := range r.Series {
		if err := stored.addNotes(p, each, r.Interval); err != nil {
			return answer{}, err
		}
	}
	if err := stored.addScrapes(r.Scrapes); err != nil {
		return answer{}, err
	}
	oracle := oracle{engine: engine, parser: p, store: stored}
	rules, looks, err := oracle.alerts(r)
	if err != nil {
		return answer{}, err
	}
	given := answer{Rules: rules, Looks: looks}
	for _, expression := range r.Expressions {
		given.Expressions = append(given.Expressions, oracle.evaluated(expression, r.At))
	}
	return given, nil
}
