package podconfig

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// RootCAConfigMap is in every namespace: a controller creates it shortly after the
// namespace, and every Pod refers to it.
const RootCAConfigMap = "kube-root-ca.crt"

// Reference names a ConfigMap or Secret.
type Reference struct {
	Secret          bool
	Namespace, Name string
}

// VolumeReferences yields the ConfigMaps and Secrets that a volume needs, except for
// the certificate of the API server.
func VolumeReferences(pod *corev1.Pod, v *corev1.Volume) iter.Seq[Reference] {
	return func(yield func(Reference) bool) {
		switch {
		case v.ConfigMap != nil:
			yield(Reference{false, pod.Namespace, v.ConfigMap.Name})
		case v.Secret != nil:
			yield(Reference{true, pod.Namespace, v.Secret.SecretName})
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.ConfigMap != nil && s.ConfigMap.Name != RootCAConfigMap && !yield(Reference{false, pod.Namespace, s.ConfigMap.Name}) ||
					s.Secret != nil && !yield(Reference{true, pod.Namespace, s.Secret.Name}) {
					return
				}
			}
		}
	}
}

// environmentReferences yields the ConfigMaps and Secrets that the environment of a
// container needs.
func environmentReferences(pod *corev1.Pod, c *corev1.Container) iter.Seq[Reference] {
	return func(yield func(Reference) bool) {
		for _, s := range c.EnvFrom {
			if s.ConfigMapRef != nil && !yield(Reference{false, pod.Namespace, s.ConfigMapRef.Name}) ||
				s.SecretRef != nil && !yield(Reference{true, pod.Namespace, s.SecretRef.Name}) {
				return
			}
		}
		for _, v := range c.Env {
			s := v.ValueFrom
			if s == nil {
				continue
			}
			if s.ConfigMapKeyRef != nil && !yield(Reference{false, pod.Namespace, s.ConfigMapKeyRef.Name}) ||
				s.SecretKeyRef != nil && !yield(Reference{true, pod.Namespace, s.SecretKeyRef.Name}) {
				return
			}
		}
	}
}

// References yields what a container of a Pod needs before it can start: its
// environment, and all volumes of the Pod.
func References(pod *corev1.Pod, c *corev1.Container) iter.Seq[Reference] {
	return func(yield func(Reference) bool) {
		for r := range environmentReferences(pod, c) {
			if !yield(r) {
				return
			}
		}
		for i := range pod.Spec.Volumes {
			for r := range VolumeReferences(pod, &pod.Spec.Volumes[i]) {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// IsServiceAccount reports whether a volume holds what every Pod gets to reach the API
// server: a token, the certificate and the namespace. All of that exists as soon as the
// certificate does.
func IsServiceAccount(v *corev1.Volume) bool {
	if v.Projected == nil {
		return false
	}
	token := false
	for _, s := range v.Projected.Sources {
		switch {
		case s.ServiceAccountToken != nil:
			token = true
		case s.DownwardAPI != nil, s.ConfigMap != nil && s.ConfigMap.Name == RootCAConfigMap:
		default:
			return false
		}
	}
	return token
}

// HasTrustBundle reports whether a volume needs ClusterTrustBundles.
func HasTrustBundle(v *corev1.Volume) bool {
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ClusterTrustBundle != nil })
}
