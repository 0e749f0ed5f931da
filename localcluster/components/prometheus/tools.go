//go:build tools

// Package tools pins the binaries that localcluster builds from this module.
package tools

import (
	_ "github.com/prometheus/prometheus/cmd/prometheus"
)
