package main

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

type oracle struct {
	engine *promql.Engine
	parser parser.Parser
	store  *store
}

type matcher struct {
	Label    string `json:"label"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
}

// A selector of an expression.
type selector struct {
	Metric   string    `json:"metric"`
	Matchers []matcher `json:"matchers"`
}

type valued struct {
	Labels labels.Labels `json:"labels"`
	// As text, for JSON has no word for NaN.
	Value string `json:"value"`
}

type evaluated struct {
	Expression string     `json:"expression"`
	Error      string     `json:"error,omitempty"`
	Reads      []selector `json:"reads"`
	Series     []valued   `json:"series"`
}

func (o *oracle) evaluated(expression string, at int64) evaluated {
	outcome := evaluated{Expression: expression}
	reads, err := o.reads(expression)
	if err != nil {
		outcome.Error = err.Error()
		return outcome
	}
	outcome.Reads = reads
	vector, err := o.query(context.Background(), expression, time.Unix(at, 0))
	if err != nil {
		outcome.Error = err.Error()
		return outcome
	}
	for _, each := range vector {
		outcome.Series = append(outcome.Series, valued{each.Metric, number(each.F)})
	}
	return outcome
}

func (o *oracle) query(ctx context.Context, expression string, at time.Time) (promql.Vector, error) {
	query, err := o.engine.NewInstantQuery(ctx, o.store, nil, expression, at)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, result.Err
	}
	if scalar, isScalar := result.Value.(promql.Scalar); isScalar {
		return promql.Vector{{T: scalar.T, F: scalar.V}}, nil
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, err
	}
	// What it holds goes back to the engine when the query is closed.
	return append(promql.Vector(nil), vector...), nil
}

func (o *oracle) reads(expression string) ([]selector, error) {
	tree, err := o.parser.ParseExpr(expression)
	if err != nil {
		return nil, err
	}
	var found []selector
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		if vector, isVector := node.(*parser.VectorSelector); isVector {
			each := selector{Metric: vector.Name}
			for _, it := range vector.LabelMatchers {
				if it.Name != labels.MetricName {
					each.Matchers = append(each.Matchers, matcher{it.Name, it.Type.String(), it.Value})
				}
			}
			found = append(found, each)
		}
		return nil
	})
	return found, nil
}
