package podconfig

import (
	"fmt"
	"strings"

	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// What Linux passes to a process: a longer value or more in all is an E2BIG there.
const (
	maxValueBytes     = 128 << 10
	maxContainerBytes = 2 << 20
)

// expand replaces the variables in a value. It fails before the result takes more
// memory than a process may be given: a few lines can refer to gigabytes.
func expand(value string, mapping func(string) string) (string, error) {
	room := maxValueBytes - len(value)
	if room < 0 {
		return "", errTooLong
	}
	// Without a closing parenthesis, each "$(" makes Expand read to the end.
	closed := strings.LastIndexByte(value, ')') + 1
	expanded := expansion.Expand(value[:closed], func(name string) string {
		if room < 0 {
			return ""
		}
		found := mapping(name)
		room -= len(found)
		return found
	})
	expanded += strings.ReplaceAll(value[closed:], "$$", "$")
	if room < 0 || len(expanded) > maxValueBytes {
		return "", errTooLong
	}
	return expanded, nil
}

var errTooLong = fmt.Errorf("longer than %d bytes with its variables expanded", maxValueBytes)

// ExpandCommand replaces the variables in a command.
func ExpandCommand(args []string, env []kubecontainer.EnvVar) ([]string, error) {
	values := make(map[string]string, len(env))
	for _, v := range env {
		values[v.Name] = v.Value
	}
	mapping := expansion.MappingFuncFor(values)
	size := 0
	expanded := make([]string, len(args))
	for i, arg := range args {
		var err error
		if expanded[i], err = expand(arg, mapping); err != nil {
			return nil, fmt.Errorf("argument list too long: argument %d is %w", i, err)
		}
		if size += len(expanded[i]); size > maxContainerBytes {
			return nil, fmt.Errorf("argument list too long: more than %d bytes with its variables expanded", maxContainerBytes)
		}
	}
	return expanded, nil
}
