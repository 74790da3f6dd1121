// Package kustomize renders kustomizations with upstream's library. It runs no plugins
// and fetches nothing: what a kustomization refers to has to be on disk, in its root.
package kustomize

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// maxFileBytes bounds each file of a kustomization.
const maxFileBytes = 128 << 20

// Build renders the kustomization in a folder. An error is a usage.Error, unless a file may not be read.
func Build(dir string) (manifests.Text, error) {
	text, err := build(dir)
	if err != nil {
		failed := fmt.Errorf("-k %s: %s", dir, words.OneLine(err.Error()))
		if errors.Is(err, fs.ErrPermission) {
			return text, failed
		}
		return text, usage.Errorf("%w", failed)
	}
	return text, nil
}

// Inputs returns the files of a kustomization: those that it consists of and refers to, and
// likewise those of its bases. If it cannot be built, some may be missing.
func Inputs(dir string) []string {
	var in inputs
	_ = in.checkLocal(dir, nil) // Build says why
	return in
}

func build(dir string) (manifests.Text, error) {
	if err := new(inputs).checkLocal(dir, nil); err != nil {
		return manifests.Text{}, err
	}
	rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(boundedFiles{filesys.MakeFsOnDisk()}, dir)
	if err != nil {
		return manifests.Text{}, err
	}
	data, err := rendered.AsYaml()
	return manifests.Text{Name: "kustomization " + dir, Data: data}, err
}

// boundedFiles limits how much of a file is read.
type boundedFiles struct{ filesys.FileSystem }

// ReadFile implements filesys.FileSystem.
func (boundedFiles) ReadFile(path string) ([]byte, error) { return limitread.File(path, maxFileBytes) }

// inputs are the files that checkLocal has found.
type inputs []string

// checkLocal refuses a kustomization that refers to something which is not on disk:
// kustomize would fetch it, by HTTP or with git. parents are the folders that led here.
func (in *inputs) checkLocal(dir string, parents []string) error {
	if strings.Contains(dir, "://") {
		return fmt.Errorf("%s is fetched from elsewhere, which is not done: download it first", dir)
	}
	dir = filepath.Clean(dir)
	if slices.Contains(parents, dir) {
		return nil // kustomize reports the cycle
	}
	file, k, err := readKustomization(dir)
	if file != "" {
		*in = append(*in, file)
	}
	if err != nil {
		return err
	}
	if err := checkPlugins(dir, k); err != nil {
		return err
	}
	for _, ref := range references(k) {
		where := file + ": " + ref.field
		if isRemote(ref.path) { // kustomize prefers to fetch it, even if there is such a folder
			return remoteError(where, ref.path)
		}
		path := filepath.Join(dir, ref.path)
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return missingError(where, ref.path, err)
		case !info.IsDir():
			*in = append(*in, path)
		default:
			if err := in.checkLocal(path, append(parents, dir)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readKustomization reads the kustomization of a folder. file is its path, also if it does not parse.
func readKustomization(dir string) (file string, k *types.Kustomization, err error) {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		file = filepath.Join(dir, name)
		data, err := limitread.File(file, maxFileBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return file, nil, err
		}
		k := &types.Kustomization{}
		if err := k.Unmarshal(data); err != nil {
			return file, nil, fmt.Errorf("%s: %w", file, err)
		}
		k.FixKustomization()
		return file, k, nil
	}
	return "", nil, fmt.Errorf("%s has no %s: name a folder with one", dir, konfig.DefaultKustomizationFileName())
}

// reference is a path in a kustomization, with the name of its field.
type reference struct{ field, path string }

// references are the paths in a kustomization that may be those of something elsewhere.
func references(k *types.Kustomization) (refs []reference) {
	add := func(field string, paths ...string) {
		for _, path := range paths {
			if path != "" {
				refs = append(refs, reference{field, path})
			}
		}
	}
	addFiles := func(field string, paths []string) {
		add(field, slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return strings.Contains(p, "\n") })...) // inline
	}
	add("resources", k.Resources...)
	add("components", k.Components...)
	add("crds", k.Crds...)
	add("configurations", k.Configurations...)
	addFiles("generators", k.Generators)
	addFiles("transformers", k.Transformers)
	addFiles("validators", k.Validators)
	for _, p := range k.Patches {
		add("patches", p.Path)
	}
	for _, p := range k.PatchesJson6902 { //nolint:staticcheck // kustomize still reads it
		add("patchesJson6902", p.Path)
	}
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // kustomize still reads it
		if isRemote(string(p)) || !strings.ContainsAny(string(p), "\n:") { // not inline
			add("patchesStrategicMerge", string(p))
		}
	}
	for _, r := range k.Replacements {
		add("replacements", r.Path)
	}
	add("openapi", k.OpenAPI["path"])
	for _, g := range k.ConfigMapGenerator {
		add("configMapGenerator", sourceFiles(g.KvPairSources)...)
	}
	for _, g := range k.SecretGenerator {
		add("secretGenerator", sourceFiles(g.KvPairSources)...)
	}
	return refs
}

func sourceFiles(s types.KvPairSources) []string {
	var files []string
	for _, source := range s.FileSources {
		_, path, named := strings.Cut(source, "=")
		if !named {
			path = source
		}
		files = append(files, path)
	}
	files = append(files, s.EnvSources...)
	if s.EnvSource != "" {
		files = append(files, s.EnvSource)
	}
	return files
}
