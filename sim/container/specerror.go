package container

import (
	"errors"
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/kubernetes/pkg/kubelet/util/format"
	"k8s.io/kubernetes/pkg/securitycontext"
	"k8s.io/kubernetes/pkg/util/parsers"
	"k8s.io/utils/ptr"
)

// imageError is why no image can have the name of a container's image, in the kubelet's
// words.
type imageError struct {
	image string
	err   error
}

func (e imageError) Error() string {
	return fmt.Sprintf("Failed to apply default image tag %q: %v", e.image, e.err)
}

func (e imageError) Unwrap() error { return e.err }

// checkImageName returns why the name of an image is not valid. Whether the image exists is
// not known.
func checkImageName(image string) error {
	if _, _, _, err := parsers.ParseImageName(image); err != nil {
		return imageError{image, err}
	}
	return nil
}

func isImageError(err error) bool {
	_, ok := errors.AsType[imageError](err)
	return ok
}

// checkNonRoot returns why a container must not run as the user that its spec names. The user
// of an image is not known. The kubelet's function is not exported.
func checkNonRoot(of *corev1.Pod, c *corev1.Container) error {
	sc := securitycontext.DetermineEffectiveSecurityContext(of, c)
	if sc == nil || !ptr.Deref(sc.RunAsNonRoot, false) || ptr.Deref(sc.RunAsUser, 1) != 0 {
		return nil
	}
	return fmt.Errorf("container's runAsUser breaks non-root policy (pod: %q, container: %s)", format.Pod(of), c.Name)
}

// isTemporary reports whether an error is that of a request, and may not tell that an object or a key is missing.
func isTemporary(err error) bool {
	if list, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		return !slices.ContainsFunc(list.Errors(), func(err error) bool { return !isTemporary(err) })
	}
	if _, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return !apierrors.IsNotFound(err)
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}
