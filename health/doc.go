// Package health tells whether objects of the API are healthy, waits until they
// are, and says why they are not in the words that a person would look for: the
// Pod that is unschedulable, the quota that is exceeded, the image that cannot
// be pulled.
//
// Healthy is what kstatus calls Current: the kinds of Kubernetes by rules of
// their own, all others by their generation and their conditions, and what has
// no conditions as soon as it is there. It is stricter about four kinds, for
// which kstatus would call what does not work healthy: a Service of type
// LoadBalancer needs an address, an APIService must be available, a Pod must not
// have failed, and the active Pods of a Job must be ready.
package health
