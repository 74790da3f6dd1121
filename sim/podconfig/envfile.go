package podconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	envutil "k8s.io/kubernetes/pkg/kubelet/util/env"
)

// NeedsFiles reports whether the environment of a container is in files of its Pod.
func NeedsFiles(c *corev1.Container) bool {
	return slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.ValueFrom != nil && v.ValueFrom.FileKeyRef != nil })
}

// fileValue returns the value of a variable in a file; false if it is optional and missing.
func (e *environment) fileValue(ctx context.Context, ref *corev1.FileKeySelector) (string, bool, error) {
	data, err := e.from.File(ctx, e.pod, ref.VolumeName, ref.Path, maxContainerBytes)
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	value := ""
	if err == nil {
		value, err = parseEnvFile(data, ref.Key)
	}
	switch {
	case err != nil: // upstream has the reason in the log of the kubelet
		return "", false, fmt.Errorf("couldn't parse env file: %w", err)
	case value == "" && !isTrue(ref.Optional):
		return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, path.Join(ref.VolumeName, ref.Path))
	}
	return value, value != "", nil
}

// parseEnvFile passes the content of a file to upstream's parser, which takes only the name
// of a file.
func parseEnvFile(data []byte, key string) (value string, err error) {
	file, err := os.CreateTemp("", "ctrlplane-env-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	if value, err = envutil.ParseEnv(file.Name(), key); err != nil {
		return "", errors.New(strings.ReplaceAll(err.Error(), fmt.Sprintf(" %q", file.Name()), "")) // not a name that the user knows
	}
	return value, nil
}
