package podconfig

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/configmap"
	"k8s.io/kubernetes/pkg/volume/downwardapi"
	"k8s.io/kubernetes/pkg/volume/secret"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

// Files are the files of a volume by their paths in it.
type Files map[string]volumeutil.FileProjection

// HasFiles reports whether the content of a volume comes from API objects.
func HasFiles(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
}

// VolumeFiles returns the files of a volume for which HasFiles holds. The errors are
// those of the kubelet: the containers of the Pod wait until there is none.
func VolumeFiles(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, from Source) (Files, error) {
	c := &collector{pod: pod, from: from, room: MaxVolumeBytes}
	switch {
	case v.ConfigMap != nil:
		s := v.ConfigMap
		return c.configMap(ctx, s.Name, s.Items, s.DefaultMode, s.Optional)
	case v.Secret != nil:
		s := v.Secret
		return c.secret(ctx, s.SecretName, s.Items, s.DefaultMode, s.Optional)
	case v.DownwardAPI != nil:
		return c.downwardAPI(ctx, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	}
	files := Files{}
	var errs []error
	for i := range v.Projected.Sources {
		part, err := c.projection(ctx, &v.Projected.Sources[i], v.Projected.DefaultMode)
		if err != nil {
			errs = append(errs, err)
		}
		for path, file := range part {
			files[path] = file
		}
	}
	return files, utilerrors.NewAggregate(errs)
}

// MaxVolumeBytes is how much the files of a volume may hold. Many items can name the
// same key.
const MaxVolumeBytes = 64 << 20

type collector struct {
	pod  *corev1.Pod
	from Source
	room int // bytes that are left
}

// take reserves the memory of a file before it is made.
func (c *collector) take(size int) error {
	if c.room -= size; c.room < 0 {
		return fmt.Errorf("the files are larger than %d bytes in all, which is not simulated", MaxVolumeBytes)
	}
	return nil
}

// takeItems reserves the memory of the items of an object, or of all its data.
func (c *collector) takeItems(items []corev1.KeyToPath, sizes map[string]int) error {
	for _, item := range items {
		if err := c.take(sizes[item.Key]); err != nil {
			return err
		}
	}
	if len(items) > 0 {
		return nil
	}
	for _, size := range sizes {
		if err := c.take(size); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) configMap(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (Files, error) {
	object, err := c.from.ConfigMap(ctx, c.pod.Namespace, name)
	if err != nil {
		if err := unlessOptional(err, optional); err != nil {
			return nil, err
		}
		object = &corev1.ConfigMap{}
	}
	sizes := map[string]int{}
	for key, data := range object.Data {
		sizes[key] = len(data)
	}
	for key, data := range object.BinaryData {
		sizes[key] = len(data)
	}
	if err := c.takeItems(items, sizes); err != nil {
		return nil, err
	}
	return configmap.MakePayload(items, object, mode, nil, isTrue(optional))
}

func (c *collector) secret(ctx context.Context, name string, items []corev1.KeyToPath, mode *int32, optional *bool) (Files, error) {
	object, err := c.from.Secret(ctx, c.pod.Namespace, name)
	if err != nil {
		if err := unlessOptional(err, optional); err != nil {
			return nil, err
		}
		object = &corev1.Secret{}
	}
	sizes := map[string]int{}
	for key, data := range object.Data {
		sizes[key] = len(data)
	}
	if err := c.takeItems(items, sizes); err != nil {
		return nil, err
	}
	return secret.MakePayload(items, object, mode, nil, isTrue(optional))
}

func (c *collector) downwardAPI(ctx context.Context, items []corev1.DownwardAPIVolumeFile, mode *int32) (Files, error) {
	for _, item := range items {
		if item.FieldRef == nil {
			continue
		}
		// CollectData reports the error.
		if value, err := fieldpath.ExtractFieldPathAsString(c.pod, item.FieldRef.FieldPath); err == nil {
			if err := c.take(len(value)); err != nil {
				return nil, err
			}
		}
	}
	return downwardapi.CollectData(items, c.pod, allocatableHost{ctx: ctx, from: c.from, node: c.pod.Spec.NodeName}, mode, nil)
}

func (c *collector) projection(ctx context.Context, p *corev1.VolumeProjection, mode *int32) (Files, error) {
	switch {
	case p.ConfigMap != nil:
		return c.configMap(ctx, p.ConfigMap.Name, p.ConfigMap.Items, mode, p.ConfigMap.Optional)
	case p.Secret != nil:
		return c.secret(ctx, p.Secret.Name, p.Secret.Items, mode, p.Secret.Optional)
	case p.DownwardAPI != nil:
		return c.downwardAPI(ctx, p.DownwardAPI.Items, mode)
	case p.ServiceAccountToken != nil:
		token, err := c.token(ctx, p.ServiceAccountToken)
		return c.one(p.ServiceAccountToken.Path, []byte(token), mode), err
	case p.ClusterTrustBundle != nil:
		bundle, err := c.from.TrustBundle(ctx, p.ClusterTrustBundle)
		if apierrors.IsNotFound(err) && isTrue(p.ClusterTrustBundle.Optional) {
			err = nil
		}
		return c.one(p.ClusterTrustBundle.Path, bundle, mode), err
	}
	return nil, errors.New("the projection has a source that is not simulated")
}

func (c *collector) token(ctx context.Context, p *corev1.ServiceAccountTokenProjection) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: p.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: c.pod.Name, UID: c.pod.UID},
	}}
	if p.Audience != "" {
		request.Spec.Audiences = []string{p.Audience}
	}
	made, err := c.from.Token(ctx, c.pod.Namespace, c.pod.Spec.ServiceAccountName, request)
	if err != nil {
		return "", err
	}
	return made.Status.Token, nil
}

// one returns a file with credentials, which only its user may read if it has one.
func (c *collector) one(path string, data []byte, mode *int32) Files {
	m := corev1.ProjectedVolumeSourceDefaultMode
	if mode != nil {
		m = *mode
	}
	user := volumeutil.FsUserFrom(c.pod)
	if s := c.pod.Spec.SecurityContext; user != nil || s != nil && s.FSGroup != nil {
		m = 0o600
	}
	return Files{path: {Data: data, Mode: m, FsUser: user}}
}

// allocatableHost is the part of a kubelet that the downward API asks.
type allocatableHost struct {
	volume.VolumeHost
	ctx  context.Context
	from Source
	node string
}

// GetNodeAllocatable implements volume.VolumeHost.
func (h allocatableHost) GetNodeAllocatable() (corev1.ResourceList, error) {
	return h.from.Allocatable(h.ctx, h.node)
}
