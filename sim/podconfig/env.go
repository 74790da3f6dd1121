package podconfig

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	podshelper "k8s.io/kubernetes/pkg/apis/core/pods"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/fieldpath"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/pkg/kubelet/envvars"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// Environment returns the environment of a container, sorted by name. The status of
// the Pod must contain its addresses. The errors are those of the kubelet: the
// container waits with CreateContainerConfigError until there is none.
func Environment(ctx context.Context, pod *corev1.Pod, container *corev1.Container, from Source) (list []kubecontainer.EnvVar, err error) {
	services, err := serviceVariables(ctx, pod, from)
	if err != nil {
		return nil, err
	}
	e := environment{pod: pod, container: container, from: from, values: map[string]string{},
		configMaps: map[string]*corev1.ConfigMap{}, secrets: map[string]*corev1.Secret{}, files: map[[2]string]*envFile{}}
	defer func() {
		if failed := e.closeFiles(); failed != nil {
			list, err = nil, errors.Join(err, failed)
		}
	}()
	for i := range container.EnvFrom {
		if err := e.addAll(ctx, &container.EnvFrom[i]); err != nil {
			return nil, err
		}
	}
	mapping := expansion.MappingFuncFor(e.values, services)
	for i := range container.Env {
		variable := &container.Env[i]
		value := variable.Value
		switch {
		case value != "":
			if value, err = expand(value, mapping); err != nil {
				return nil, fmt.Errorf("variable %q is %w", variable.Name, err)
			}
		case variable.ValueFrom != nil:
			var found bool
			if value, found, err = e.resolve(ctx, variable.ValueFrom); err != nil {
				return nil, err
			}
			if !found {
				continue
			}
		}
		if err := e.set(variable.Name, value); err != nil {
			return nil, err
		}
	}
	for name, value := range services {
		if _, set := e.values[name]; !set {
			e.values[name] = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.values)) {
		list = append(list, kubecontainer.EnvVar{Name: name, Value: e.values[name]})
	}
	return list, nil
}

// serviceVariables returns the variables that tell a container where Services are.
func serviceVariables(ctx context.Context, pod *corev1.Pod, from Source) (map[string]string, error) {
	all, err := from.Services(ctx, pod.Namespace)
	if err != nil {
		return nil, fmt.Errorf("failed to list services when setting up env vars: %w", err)
	}
	links := pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks
	visible := map[string]*corev1.Service{}
	for _, s := range all {
		switch isMaster := s.Namespace == metav1.NamespaceDefault && s.Name == "kubernetes"; {
		case !v1helper.IsServiceIPSet(s):
		case isMaster && visible[s.Name] == nil, !isMaster && links && s.Namespace == pod.Namespace:
			visible[s.Name] = s
		}
	}
	values := map[string]string{}
	for _, v := range envvars.FromServices(slices.Collect(maps.Values(visible))) {
		values[v.Name] = v.Value
	}
	return values, nil
}

// environment collects the variables of one container.
type environment struct {
	pod        *corev1.Pod
	container  *corev1.Container
	from       Source
	values     map[string]string
	size       int                          // of values
	configMaps map[string]*corev1.ConfigMap // read so far
	secrets    map[string]*corev1.Secret
	files      map[[2]string]*envFile // by volume and path
}

// set sets a variable unless the environment becomes larger than a process may have.
func (e *environment) set(name, value string) error {
	if len(value) > maxValueBytes {
		return fmt.Errorf("variable %q is longer than %d bytes", name, maxValueBytes)
	}
	if was, set := e.values[name]; set {
		e.size -= len(name) + len(was)
	}
	if e.size += len(name) + len(value); e.size > maxContainerBytes {
		return fmt.Errorf("the environment is larger than %d bytes", maxContainerBytes)
	}
	e.values[name] = value
	return nil
}

func (e *environment) addAll(ctx context.Context, source *corev1.EnvFromSource) error {
	switch {
	case source.ConfigMapRef != nil:
		object, err := e.configMap(ctx, source.ConfigMapRef.Name)
		if err != nil {
			return unlessOptional(err, source.ConfigMapRef.Optional)
		}
		for key, value := range object.Data {
			if err := e.set(source.Prefix+key, value); err != nil {
				return err
			}
		}
	case source.SecretRef != nil:
		object, err := e.secret(ctx, source.SecretRef.Name)
		if err != nil {
			return unlessOptional(err, source.SecretRef.Optional)
		}
		for key, value := range object.Data {
			if err := e.set(source.Prefix+key, string(value)); err != nil {
				return err
			}
		}
	}
	return nil
}

// resolve returns a value; false if it is optional and missing.
func (e *environment) resolve(ctx context.Context, source *corev1.EnvVarSource) (string, bool, error) {
	switch {
	case source.FieldRef != nil:
		value, err := fieldValue(source.FieldRef, e.pod)
		return value, err == nil, err
	case source.ResourceFieldRef != nil:
		value, err := e.resourceValue(ctx, source.ResourceFieldRef)
		return value, err == nil, err
	case source.ConfigMapKeyRef != nil:
		ref := source.ConfigMapKeyRef
		object, err := e.configMap(ctx, ref.Name)
		if err != nil {
			return "", false, unlessOptional(err, ref.Optional)
		}
		value, ok := object.Data[ref.Key]
		if !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", ref.Key, e.pod.Namespace, ref.Name)
		}
		return value, ok, nil
	case source.SecretKeyRef != nil:
		ref := source.SecretKeyRef
		object, err := e.secret(ctx, ref.Name)
		if err != nil {
			return "", false, unlessOptional(err, ref.Optional)
		}
		value, ok := object.Data[ref.Key]
		if !ok && !isTrue(ref.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", ref.Key, e.pod.Namespace, ref.Name)
		}
		return string(value), ok, nil
	case source.FileKeyRef != nil:
		return e.fileValue(ctx, source.FileKeyRef)
	}
	return "", true, nil
}

func (e *environment) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	return readOnce(ctx, e.configMaps, e.from.ConfigMap, e.pod.Namespace, name)
}

func (e *environment) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	return readOnce(ctx, e.secrets, e.from.Secret, e.pod.Namespace, name)
}

func readOnce[T any](ctx context.Context, known map[string]*T, read func(ctx context.Context, namespace, name string) (*T, error), namespace, name string) (*T, error) {
	if object := known[name]; object != nil {
		return object, nil
	}
	object, err := read(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	known[name] = object
	return object, nil
}

func isTrue(b *bool) bool { return b != nil && *b }

// unlessOptional returns err unless it means that an optional object is missing.
func unlessOptional(err error, optional *bool) error {
	if apierrors.IsNotFound(err) && isTrue(optional) {
		return nil
	}
	return err
}

// fieldValue returns the value of a field of a Pod for its environment.
func fieldValue(ref *corev1.ObjectFieldSelector, pod *corev1.Pod) (string, error) {
	path, _, err := podshelper.ConvertDownwardAPIFieldLabel(ref.APIVersion, ref.FieldPath, "")
	if err != nil {
		return "", err
	}
	var addresses []string
	switch path {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return pod.Status.HostIP, nil
	case "status.podIP":
		return pod.Status.PodIP, nil
	case "status.hostIPs":
		for _, ip := range pod.Status.HostIPs {
			addresses = append(addresses, ip.IP)
		}
		return strings.Join(addresses, ","), nil
	case "status.podIPs":
		for _, ip := range pod.Status.PodIPs {
			addresses = append(addresses, ip.IP)
		}
		return strings.Join(addresses, ","), nil
	}
	return fieldpath.ExtractFieldPathAsString(pod, path)
}

// resourceValue returns the value of a resource. A container without a limit has
// that of its Pod, or else all that its node can give.
func (e *environment) resourceValue(ctx context.Context, ref *corev1.ResourceFieldSelector) (string, error) {
	defaults, err := e.from.Allocatable(ctx, e.pod.Spec.NodeName)
	if err != nil {
		return "", err
	}
	defaults = defaults.DeepCopy()
	if resourcehelper.IsPodLevelLimitsSet(e.pod) {
		for name, limit := range e.pod.Spec.Resources.Limits {
			if _, known := defaults[name]; known && resourcehelper.IsSupportedPodLevelResource(name) && !limit.IsZero() {
				defaults[name] = limit
			}
		}
	}
	if ref.ContainerName == "" {
		container := e.container.DeepCopy()
		resource.MergeContainerResourceLimits(container, defaults)
		return resource.ExtractContainerResourceValue(ref, container)
	}
	pod := e.pod.DeepCopy()
	for i := range pod.Spec.Containers {
		resource.MergeContainerResourceLimits(&pod.Spec.Containers[i], defaults)
	}
	return resource.ExtractResourceValueByContainerName(ref, pod, ref.ContainerName)
}
