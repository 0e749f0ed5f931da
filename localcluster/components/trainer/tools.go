//go:build tools

// Package tools pins the binaries that localcluster builds from this module.
package tools

import (
	_ "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"
)
