// Package podconfig computes what a kubelet makes of the spec of a Pod before it
// starts a container: the environment, the command, and the files of volumes. It
// imports upstream's own functions wherever the kubelet exports them, and reads
// objects through a Source. It starts nothing, and writes nothing but a temporary file for
// an upstream function that can only read one.
package podconfig

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
)

// Source provides the objects that Pods refer to.
type Source interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
	// Services returns the Services of a namespace and default/kubernetes.
	Services(ctx context.Context, namespace string) ([]*corev1.Service, error)
	// Token creates a token of a service account.
	Token(ctx context.Context, namespace, serviceAccount string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)
	// TrustBundle returns the certificates of a ClusterTrustBundle projection.
	TrustBundle(ctx context.Context, projection *corev1.ClusterTrustBundleProjection) ([]byte, error)
	// File returns the content of a file in a volume of a Pod, unless it is longer than limit.
	File(ctx context.Context, pod *corev1.Pod, volume, path string, limit int64) ([]byte, error)
	// Allocatable returns the allocatable resources of a node.
	Allocatable(ctx context.Context, node string) (corev1.ResourceList, error)
}
