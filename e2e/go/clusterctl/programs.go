//go:build programs

// Cluster API's tool for administrators. Naming it here keeps its dependencies in go.sum.
package programs

import _ "sigs.k8s.io/cluster-api/cmd/clusterctl"
