package main

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// AuthorizerTable is a stub authorizer: the first rule that fits decides, in the order fail, deny, allow;
// without one there is no opinion.
type AuthorizerTable struct {
	Fail  []AuthorizerRule `json:"fail,omitempty"`
	Deny  []AuthorizerRule `json:"deny,omitempty"`
	Allow []AuthorizerRule `json:"allow,omitempty"`
}

// AuthorizerRule fits a check when every field that it names is equal. Selectors are compared in the form
// `key operator values`, joined by `;`.
type AuthorizerRule struct {
	User          *string `json:"user,omitempty"`
	Verb          *string `json:"verb,omitempty"`
	Path          *string `json:"path,omitempty"`
	Group         *string `json:"group,omitempty"`
	Resource      *string `json:"resource,omitempty"`
	Subresource   *string `json:"subresource,omitempty"`
	Namespace     *string `json:"namespace,omitempty"`
	Name          *string `json:"name,omitempty"`
	FieldSelector *string `json:"fieldSelector,omitempty"`
	LabelSelector *string `json:"labelSelector,omitempty"`
	Reason        string  `json:"reason,omitempty"`
	Error         string  `json:"error,omitempty"`
}

// Authorize implements authorizer.Authorizer.
func (t *AuthorizerTable) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	for _, part := range []struct {
		rules    []AuthorizerRule
		decision authorizer.Decision
	}{{t.Fail, authorizer.DecisionNoOpinion}, {t.Deny, authorizer.DecisionDeny}, {t.Allow, authorizer.DecisionAllow}} {
		for _, rule := range part.rules {
			if !rule.fits(a) {
				continue
			}
			var err error
			if rule.Error != "" {
				err = errors.New(rule.Error)
			}
			return part.decision, rule.Reason, err
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (r AuthorizerRule) fits(a authorizer.Attributes) bool {
	equal := func(wanted *string, got string) bool { return wanted == nil || *wanted == got }
	return equal(r.User, a.GetUser().GetName()) && equal(r.Verb, a.GetVerb()) && equal(r.Path, a.GetPath()) &&
		equal(r.Group, a.GetAPIGroup()) && equal(r.Resource, a.GetResource()) && equal(r.Subresource, a.GetSubresource()) &&
		equal(r.Namespace, a.GetNamespace()) && equal(r.Name, a.GetName()) &&
		equal(r.FieldSelector, fieldSelector(a)) && equal(r.LabelSelector, labelSelector(a))
}

func fieldSelector(a authorizer.Attributes) string {
	requirements, err := a.GetFieldSelector()
	if err != nil {
		return "unreadable"
	}
	var parts []string
	for _, r := range requirements {
		parts = append(parts, r.Field+" "+string(r.Operator)+" "+r.Value)
	}
	return strings.Join(parts, ";")
}

func labelSelector(a authorizer.Attributes) string {
	requirements, err := a.GetLabelSelector()
	if err != nil {
		return "unreadable"
	}
	var parts []string
	for _, r := range requirements {
		parts = append(parts, r.Key()+" "+string(r.Operator())+" "+strings.Join(r.ValuesUnsorted(), ","))
	}
	return strings.Join(parts, ";")
}
