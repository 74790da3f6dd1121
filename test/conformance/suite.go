//go:build suite

// Package conformance builds upstream's end-to-end tests, with the modules that
// only they need, apart from ctrlplane's own module.
package conformance

import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
