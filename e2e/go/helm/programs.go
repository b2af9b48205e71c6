//go:build programs

// Helm, as its authors publish it. Naming it here keeps its dependencies in go.sum.
package programs

import _ "helm.sh/helm/v4/cmd/helm"
