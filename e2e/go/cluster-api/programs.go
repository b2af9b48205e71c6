//go:build programs

// Cluster API's managers. Naming them here keeps their dependencies in go.sum.
package programs

import (
	_ "sigs.k8s.io/cluster-api/bootstrap/kubeadm"
	_ "sigs.k8s.io/cluster-api/controlplane/kubeadm"
	_ "sigs.k8s.io/cluster-api/core"
)
