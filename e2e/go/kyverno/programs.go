//go:build programs

// Kyverno's admission controller. Naming it here keeps its dependencies in go.sum.
package programs

import _ "github.com/kyverno/kyverno/cmd/kyverno"
