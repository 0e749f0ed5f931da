//go:build tools

// Package tools pins the binaries that localcluster builds from this module.
package tools

import (
	_ "sigs.k8s.io/kueue/cmd/kueue"
)
