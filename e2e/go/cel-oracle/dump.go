package main

import (
	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// mutationEnv is the richest environment without variables: all of the base, and what mutations add.
func mutationEnv() (*cel.Env, error) {
	set, err := environment.MustBaseEnvSet(release).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: []cel.EnvOption{library.JSONPatch()},
	})
	if err != nil {
		return nil, err
	}
	return set.StoredExpressionsEnv(), nil
}

func dump(args []string) error { return nil }
