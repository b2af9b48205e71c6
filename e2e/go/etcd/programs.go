//go:build programs

// The store under the API server. Naming it here keeps its dependencies in go.sum.
package programs

import _ "go.etcd.io/etcd/server/v3"
