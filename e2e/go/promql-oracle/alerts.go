package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
)

type ruleAnswer struct {
	Alert string     `json:"alert"`
	Reads []selector `json:"reads"`
}

// The alerts at one time.
type look struct {
	At     int64   `json:"at"`
	Alerts []alert `json:"alerts"`
}

type alert struct {
	State       string            `json:"state"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// A rule, and since when each of its alerts is active.
type watched struct {
	rule  rulefmt.Rule
	since map[string]time.Time
}

func (o *oracle) alerts(asked *request) ([]ruleAnswer, []look, error) {
	if asked.Rules == "" {
		return nil, nil, nil
	}
	silent := slog.New(slog.DiscardHandler)
	groups, problems := rulefmt.Parse([]byte(asked.Rules), false, model.UTF8Validation, o.parser, silent)
	if len(problems) > 0 {
		return nil, nil, errors.Join(problems...)
	}
	var rules []ruleAnswer
	var all []*watched
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			reads, err := o.reads(rule.Expr)
			if err != nil {
				return nil, nil, err
			}
			rules = append(rules, ruleAnswer{rule.Alert, reads})
			all = append(all, &watched{rule: rule, since: map[string]time.Time{}})
		}
	}
	looks, err := o.looks(asked, all)
	return rules, looks, err
}

// Looks at the rules again and again, as a server does, and keeps what is wanted.
func (o *oracle) looks(asked *request, all []*watched) ([]look, error) {
	if len(asked.Looks) == 0 {
		return nil, nil
	}
	var looks []look
	last := slices.Max(asked.Looks)
	for at := int64(0); at <= last; at += int64(asked.Interval) {
		seen := look{At: at}
		for _, each := range all {
			active, err := o.active(each, time.Unix(at, 0))
			if err != nil {
				return nil, fmt.Errorf("%s at second %d: %w", each.rule.Alert, at, err)
			}
			seen.Alerts = append(seen.Alerts, active...)
		}
		if slices.Contains(asked.Looks, at) {
			looks = append(looks, seen)
		}
	}
	return looks, nil
}

func (o *oracle) active(each *watched, at time.Time) ([]alert, error) {
	vector, err := o.query(context.Background(), each.rule.Expr, at)
	if err != nil {
		return nil, err
	}
	var active []alert
	since := map[string]time.Time{}
	for _, found := range vector {
		it, err := o.expanded(each.rule, found, at)
		if err != nil {
			return nil, err
		}
		key := labels.FromMap(it.Labels).String()
		if _, isTwice := since[key]; isTwice {
			return nil, fmt.Errorf("two alerts have the same labels: %s", key)
		}
		since[key] = at
		if before, wasActive := each.since[key]; wasActive {
			since[key] = before
		}
		it.State = "pending"
		if at.Sub(since[key]) >= time.Duration(each.rule.For) {
			it.State = "firing"
		}
		active = append(active, it)
	}
	each.since = since
	return active, nil
}

// Labels and annotations with their templates filled in.
func (o *oracle) expanded(rule rulefmt.Rule, found promql.Sample, at time.Time) (alert, error) {
	data := template.AlertTemplateData(found.Metric.Map(), nil, "", found)
	query := func(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
		return o.query(ctx, text, at)
	}
	fill := func(into map[string]string, texts map[string]string) error {
		for name, text := range texts {
			text = "{{$labels := .Labels}}{{$value := .Value}}" + text
			filled, err := template.NewTemplateExpander(context.Background(), text, rule.Alert, data,
				model.Time(timestamp.FromTime(at)), query, &url.URL{}, nil).Expand()
			if err != nil {
				return err
			}
			into[name] = filled
		}
		return nil
	}
	given := found.Metric.Map()
	delete(given, labels.MetricName)
	its := alert{Labels: maps.Clone(given), Annotations: map[string]string{}}
	if err := errors.Join(fill(its.Labels, rule.Labels), fill(its.Annotations, rule.Annotations)); err != nil {
		return alert{}, err
	}
	its.Labels[labels.AlertName] = rule.Alert
	return its, nil
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }
