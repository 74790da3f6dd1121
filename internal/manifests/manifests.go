// Package manifests applies files of Kubernetes objects to an API server, by
// server-side apply.
package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is an object to apply and where it was read.
type Object struct {
	Source string // file and line, for messages
	*unstructured.Unstructured
}

// String names the object: "Deployment default/web".
func (o Object) String() string {
	if ns := o.GetNamespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), ns, o.GetName())
	}
	return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
}

// errorf tells what is wrong with the object, in one line.
func (o Object) errorf(format string, args ...any) error {
	return fmt.Errorf("manifests: %s: %s: %w", o.Source, o, fmt.Errorf(format, args...))
}

// Load reads the objects of files and folders, in the order given and, of a
// folder, by name. Of a folder it reads what ends in .yaml, .yml or .json and,
// as kubectl without -R, not the folders in it. A file holds any number of YAML
// or JSON documents, and lists (kind List) count as what is in them. An error
// names the file and line; it is one too if there is no object at all.
func Load(paths []string) ([]Object, error) {
	var all []Object
	for _, path := range paths {
		files, err := listFiles(path)
		if err != nil {
			return nil, fmt.Errorf("manifests: %w", err)
		}
		for _, file := range files {
			objs, err := loadFile(file)
			if err != nil {
				return nil, fmt.Errorf("manifests: %w", err)
			}
			all = append(all, objs...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("manifests: no object in %s: nothing to apply", strings.Join(paths, ", "))
	}
	return all, nil
}

// listFiles returns the files that a path stands for.
func listFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, pathError(path, err)
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: no *.yaml, *.yml or *.json file in this folder (folders in it are not read)", path)
	}
	return files, nil
}

// pathError leaves out of err the system call and the path.
func pathError(path string, err error) error {
	if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}
