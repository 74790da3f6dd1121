package manifests

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Stdin is the path that stands for the standard input.
const Stdin = "-"

// Text is the content of a file that is not on disk.
type Text struct {
	Name string // for messages
	Data []byte
}

// ReadStdin reads the standard input as a text, up to the limit of a file.
func ReadStdin(r io.Reader) (Text, error) {
	const name = "standard input"
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = usage.Errorf("it is longer than %d MiB", maxFileBytes>>20)
	}
	if err != nil {
		return Text{}, fmt.Errorf("manifests: %s: %w", name, err)
	}
	return Text{name, data}, nil
}

// ReadFile reads a file as a text.
func ReadFile(ctx context.Context, path string) (Text, error) {
	data, err := limitread.FileContext(ctx, path, maxFileBytes)
	if err != nil {
		return Text{}, fmt.Errorf("manifests: %w", pathError(path, err))
	}
	return Text{path, data}, nil
}

// LoadTexts reads the objects of texts, in the given order. An error is an *Errors with those of all documents.
func LoadTexts(texts []Text) ([]Object, error) {
	var all []Object
	var errs []error
	for _, t := range texts {
		objs, failed := parseFile(t.Name, t.Data)
		if len(objs)+len(failed) == 0 {
			failed = append(failed, usage.Errorf("no object in %s: add one, or leave it out", t.Name))
		}
		errs = append(errs, failed...)
		all = append(all, objs...)
	}
	if len(errs) > 0 {
		return nil, asError(errs)
	}
	return all, nil
}

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// checkPath refuses what is not a file or folder.
func checkPath(path string) error {
	switch {
	case scheme.MatchString(path):
		return usage.Errorf("%s: URLs are not fetched: the same command has to do the same without a network, and tomorrow: download it first, for example with curl -fsSLO", path)
	case path == Stdin:
		return usage.Errorf("-: the standard input cannot be read here: name a file or folder")
	case path == "":
		return usage.Errorf("the path is empty: name a file or folder")
	}
	return nil
}

// ListRecursively replaces folders by the files that Load would read in them and in their
// subfolders, in the order of their names. It follows no symbolic links to folders.
func ListRecursively(paths []string) ([]string, error) {
	var all []string
	for _, path := range paths {
		if err := checkPath(path); err != nil {
			return nil, fmt.Errorf("manifests: %w", err)
		}
		files, err := listTree(path)
		if err != nil {
			return nil, fmt.Errorf("manifests: %w", pathError(path, err))
		}
		if len(files) == 0 {
			return nil, usage.Errorf("manifests: %s: no %s file in this folder or below", path, fileNames)
		}
		all = append(all, files...)
	}
	return all, nil
}

func listTree(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (name == path || isManifestFile(name)) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

var extensions = []string{".yaml", ".yml", ".json"}

const fileNames = "*.yaml, *.yml or *.json"

func isManifestFile(name string) bool {
	return slices.Contains(extensions, filepath.Ext(name))
}
