// Package health reports whether API objects are healthy, waits until they are, and
// explains why they are not: the Pod that is unschedulable, the quota that is
// exceeded, the image that cannot be pulled.
//
// An object is healthy if kstatus calls it Current: kinds of Kubernetes by rules of
// their own, other kinds by their generation and conditions, and objects without
// conditions as soon as they exist. Of a status that kstatus cannot read the usual conditions
// decide, and of kinds of Argo their phase. The package is stricter about four kinds, which
// kstatus calls Current although they do not work: a Service of type LoadBalancer
// needs an address, an APIService must be available, a Pod must not have failed, and
// the active Pods of a Job must be ready.
package health
