//go:build suite

// Package conformance requires upstream's end-to-end tests in a module of its own, so
// that ctrlplane does not require the modules that only they need.
package conformance

import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
