//go:build programs

// Metal3's operators. Naming them here keeps their dependencies in go.sum.
package programs

import (
	_ "github.com/metal3-io/baremetal-operator"
	_ "github.com/metal3-io/cluster-api-provider-metal3"
)
