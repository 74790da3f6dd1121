// Package metricsapi serves metrics.k8s.io for simulated nodes and their pods:
// what `kubectl top` shows and what a HorizontalPodAutoscaler scales by.
//
// A container that runs uses a tenth of what it requests, or 5m CPU and 32Mi of
// memory where it requests none. Two annotations of its pod say otherwise, by the
// names and in the sense that kwok gives them, and for one container too:
//
//	kwok.x-k8s.io/usage-cpu: 250m                 each container
//	kwok.x-k8s.io/usage-memory: app=64Mi,proxy=8Mi  these; the others as without
//
// A pod with a wrong value has no metrics: who asks for it is told why in the
// error, and who lists in a warning.
package metricsapi
