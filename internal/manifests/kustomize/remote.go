package kustomize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
)

// gitForm matches what kustomize takes as a git repository, and more.
var gitForm = regexp.MustCompile(`(?i)^(git::|github\.com[/:]|[a-z][a-z0-9-]*@|[a-z][a-z0-9+.-]*:/)`)

// isRemote reports whether kustomize would fetch what a path names, by HTTP or with git.
func isRemote(path string) bool {
	u, err := url.Parse(path)
	return gitForm.MatchString(path) || err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

func remoteError(in, ref string) error {
	return fmt.Errorf("%s: %q is not fetched from elsewhere: download it first, and name the file or folder", in, ref)
}

// missingError returns the error for a path that cannot be examined: kustomize may fetch what it names.
func missingError(in, ref string, err error) error {
	if strings.Contains(ref, "//") || strings.Contains(ref, "?") || strings.Contains(ref, ".git") {
		return remoteError(in, ref)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %q does not exist: correct the path, or add it", in, ref)
	}
	return fmt.Errorf("%s: %q: %w", in, ref, fileerror.WithoutPath(err))
}

// checkPlugins checks the configurations of generators, transformers and validators: any
// text in them may be a path, so that none may be that of something elsewhere.
func checkPlugins(dir string, k *types.Kustomization) error {
	for _, ref := range slices.Concat(k.Generators, k.Transformers, k.Validators) {
		var err error
		if strings.Contains(ref, "\n") {
			err = checkInline(dir, ref)
		} else {
			err = checkPlugin(dir, ref, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkInline refuses inline text that kustomize would take as a path.
func checkInline(dir, text string) error {
	if isRemote(text) {
		return remoteError(dir, text)
	}
	return checkTexts(dir, []byte(text))
}

// checkPlugin checks a file, or a folder whose kustomization lists files. Such a folder
// may only list them: what changes configurations could make up a path.
func checkPlugin(dir, ref string, parents []string) error {
	if isRemote(ref) {
		return remoteError(dir, ref)
	}
	path := filepath.Join(dir, ref)
	info, err := os.Stat(path)
	if err != nil {
		return missingError(dir, ref, err)
	}
	if !info.IsDir() {
		data, err := limitread.File(path, maxFileBytes)
		if err != nil {
			return err
		}
		return checkTexts(path, data)
	}
	if slices.Contains(parents, path) {
		return nil // kustomize reports the cycle
	}
	_, k, err := readKustomization(path)
	if err != nil {
		return err
	}
	only := types.Kustomization{TypeMeta: k.TypeMeta, MetaData: k.MetaData, Resources: k.Resources}
	only.FixKustomization()
	got, err := yaml.Marshal(k)
	if err != nil {
		return err
	}
	if want, err := yaml.Marshal(only); err != nil || !bytes.Equal(got, want) {
		return errors.Join(err, fmt.Errorf("%s has configurations of plugins, and may have nothing but resources: name their files instead", path))
	}
	for _, ref := range k.Resources {
		if err := checkPlugin(path, ref, append(parents, path)); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts refuses documents with a text that names something elsewhere.
func checkTexts(name string, data []byte) error {
	for in := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := checkNode(name, &doc); err != nil {
			return err
		}
	}
}

func checkNode(name string, node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		_, path, _ := strings.Cut(node.Value, "=") // as in files: [key=path]
		for _, text := range []string{node.Value, path} {
			if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				return remoteError(name, text)
			}
		}
	}
	for _, child := range node.Content { // an alias has what its anchor has
		if err := checkNode(name, child); err != nil {
			return err
		}
	}
	return nil
}
