//go:build tools

// Package tools pins the binaries that localcluster builds from this module.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
)
