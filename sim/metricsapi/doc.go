// Package metricsapi serves metrics.k8s.io for simulated nodes and their Pods: what
// `kubectl top` shows and what a HorizontalPodAutoscaler uses.
//
// A running container uses a tenth of its requests, or 5m CPU and 32Mi of memory if it
// requests none. Two annotations of its Pod change this. Their names and meaning are
// kwok's, and they can also apply to single containers:
//
//	kwok.x-k8s.io/usage-cpu: 250m                   for each container
//	kwok.x-k8s.io/usage-memory: app=64Mi,proxy=8Mi  for these; no change for others
//
// A Pod with an invalid value has no metrics. A get returns the reason as an error and
// a list as a warning.
package metricsapi
