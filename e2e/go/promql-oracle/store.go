package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A series as promtool's tests note it.
type notes struct {
	Series string `json:"series"`
	Values string `json:"values"`
}

// What a target said.
type scrape struct {
	At     float64           `json:"at"`
	Labels map[string]string `json:"labels"`
	Text   string            `json:"text"`
}

type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// All samples, in the order of their times.
type store struct {
	series map[string]*series
}

func newStore() *store { return &store{series: map[string]*series{}} }

func (s *store) add(of labels.Labels, at int64, number float64) {
	key := of.String()
	if s.series[key] == nil {
		s.series[key] = &series{labels: of}
	}
	s.series[key].samples = append(s.series[key].samples, sample{at, number})
}

func (s *store) addNotes(p parser.Parser, noted notes, interval float64) error {
	of, values, err := p.ParseSeriesDesc(noted.Series + " " + noted.Values)
	if err != nil {
		return fmt.Errorf("%s: %w", noted.Series, err)
	}
	for number, each := range values {
		if !each.Omitted {
			s.add(of, int64(float64(number)*interval*1000), each.Value)
		}
	}
	return nil
}

// Scrapes of several targets may be mixed; those of one are in order.
func (s *store) addScrapes(all []scrape) error {
	before := map[string]map[string]labels.Labels{}
	for _, each := range all {
		target := labels.FromMap(each.Labels)
		seen, err := s.addScrape(each, target)
		if err != nil {
			return fmt.Errorf("the scrape of %s at second %v: %w", target, each.At, err)
		}
		for key, of := range before[target.String()] {
			if _, isThere := seen[key]; !isThere {
				s.add(of, int64(each.At*1000), math.Float64frombits(value.StaleNaN))
			}
		}
		before[target.String()] = seen
	}
	return nil
}

func (s *store) addScrape(scraped scrape, target labels.Labels) (map[string]labels.Labels, error) {
	seen := map[string]labels.Labels{}
	lines := textparse.NewOpenMetricsParser([]byte(scraped.Text), labels.NewSymbolTable())
	for {
		entry, err := lines.Next()
		if errors.Is(err, io.EOF) {
			s.add(withName(target, "up"), int64(scraped.At*1000), 1)
			return seen, nil
		}
		if err != nil {
			return nil, err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var said labels.Labels
		lines.Labels(&said)
		_, _, number := lines.Series()
		of := ofTarget(said, target)
		seen[of.String()] = of
		s.add(of, int64(scraped.At*1000), number)
	}
}

func withName(target labels.Labels, name string) labels.Labels {
	builder := labels.NewBuilder(target)
	return builder.Set(labels.MetricName, name).Labels()
}

func ofTarget(said, target labels.Labels) labels.Labels {
	builder := labels.NewBuilder(said)
	target.Range(func(label labels.Label) {
		if before := said.Get(label.Name); before != "" {
			builder.Set("exported_"+label.Name, before)
		}
		builder.Set(label.Name, label.Value)
	})
	return builder.Labels()
}

func (s *store) Querier(_, _ int64) (storage.Querier, error) { return s, nil }

// Select implements storage.Querier.
func (s *store) Select(_ context.Context, _ bool, _ *storage.SelectHints, wanted ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, each := range s.series {
		isUnwanted := func(matcher *labels.Matcher) bool { return !matcher.Matches(each.labels.Get(matcher.Name)) }
		if !slices.ContainsFunc(wanted, isUnwanted) {
			found = append(found, storage.NewListSeries(each.labels, each.samples))
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &selected{left: found}
}

// What was selected: one at hand, and those after it.
type selected struct {
	current storage.Series
	left    []storage.Series
}

func (s *selected) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.current, s.left = s.left[0], s.left[1:]
	return true
}

func (s *selected) At() storage.Series              { return s.current }
func (*selected) Err() error                        { return nil }
func (*selected) Warnings() annotations.Annotations { return nil }

// LabelValues is asked by no expression.
func (*store) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.New("no expression asks for the values of a label")
}

// LabelNames is asked by no expression.
func (*store) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.New("no expression asks for the names of labels")
}

// Close implements storage.Querier.
func (*store) Close() error { return nil }
