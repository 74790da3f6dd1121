// Package manifests reads files with Kubernetes objects and applies them by server-side
// apply.
package manifests

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Object is an object to apply, and the place that it was read from.
type Object struct {
	Source string // file and line, for messages
	*unstructured.Unstructured

	from origin
}

// String returns the kind and the name, as in "Deployment default/web".
func (o Object) String() string {
	if ns := o.GetNamespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), ns, o.GetName())
	}
	return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
}

// ErrNoFile is in the error of Load for a folder without files that it reads.
var ErrNoFile = errors.New("in this folder (its subfolders are not read)")

// Load reads the objects of files and folders, in the given order; those of a folder in
// the order of the file names. In a folder it reads the files that end in .yaml, .yml or
// .json and, like kubectl without -R, no subfolders. A file contains any number of YAML
// or JSON documents; a list (kind List) is replaced by its items. An error is an *Errors with
// those of all documents, each a usage.Error unless something else keeps a file from being read. It is an error if they
// define none.
func Load(ctx context.Context, paths []string) ([]Object, error) {
	var all []Object
	var errs []error
	for _, path := range paths {
		files, err := listFiles(path)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			objs, failed := loadFile(ctx, file)
			errs = append(errs, failed...)
			all = append(all, objs...)
		}
	}
	if len(all)+len(errs) == 0 {
		errs = append(errs, usage.Errorf("no object in %s: add one, or leave it out", strings.Join(paths, ", ")))
	}
	if len(errs) > 0 {
		return nil, asError(errs)
	}
	return all, nil
}

// LoadAll reads the objects of files and folders, if there are any, and of texts. Its errors are those of Load and LoadTexts.
func LoadAll(ctx context.Context, paths []string, texts []Text) (all []Object, err error) {
	var pathsErr error
	if len(paths) > 0 {
		all, pathsErr = Load(ctx, paths)
	}
	more, textsErr := LoadTexts(texts)
	if err := join(pathsErr, textsErr); err != nil {
		return nil, err
	}
	return append(all, more...), nil
}

// listFiles returns the file at a path, or the files to read in a folder.
func listFiles(path string) ([]string, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
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
		if !e.IsDir() && isManifestFile(e.Name()) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, usage.Errorf("%s: no %s file %w", path, fileNames, ErrNoFile)
	}
	return files, nil
}

// pathError removes the system call from err, and the path that it would repeat.
func pathError(path string, err error) error {
	for _, wrong := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EFBIG} {
		if errors.Is(err, wrong) {
			return usage.Errorf("%s: %w", path, fileerror.WithoutPath(err))
		}
	}
	return fmt.Errorf("%s: %w", path, fileerror.WithoutPath(err))
}
