//go:build programs

// Gatekeeper's manager. Naming it here keeps its dependencies in go.sum.
package programs

import _ "github.com/open-policy-agent/gatekeeper/v3"
