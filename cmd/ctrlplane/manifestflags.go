package main

import (
	"context"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/manifests/kustomize"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// manifestFlags are the flags that name objects: -f, -R and -k.
type manifestFlags struct {
	files     []string
	recursive bool
	kustomize []string
}

// addFlags adds the flags; -f has different long names. use says what the objects are for.
func (m *manifestFlags) addFlags(f *pflag.FlagSet, long, use string) {
	f.StringArrayVarP(&m.files, long, "f", nil, "file or folder with objects "+use+"; - is stdin (repeatable)")
	f.BoolVarP(&m.recursive, "recursive", "R", false, "with -f, read subfolders, too")
	f.StringArrayVarP(&m.kustomize, "kustomize", "k", nil, "folder with a kustomization of objects "+use+" (repeatable)")
}

func (m *manifestFlags) given() bool { return len(m.files)+len(m.kustomize) > 0 }

func (m *manifestFlags) readsStdin() bool { return slices.Contains(m.files, manifests.Stdin) }

func (m *manifestFlags) validate() error {
	if m.recursive && len(m.files) == 0 {
		return usage.Errorf("-R needs -f: add it, or leave -R out")
	}
	if first := slices.Index(m.files, manifests.Stdin); first >= 0 && slices.Contains(m.files[first+1:], manifests.Stdin) {
		return usage.Errorf("-f -: stdin can be read only once: leave out the second one")
	}
	return nil
}

// readOnce returns the first of the files that can be read only once, and what it is.
func (m *manifestFlags) readOnce() (path, what string) {
	for _, path := range m.files {
		if path == manifests.Stdin {
			return path, "stdin"
		}
		if limitread.IsStream(path) {
			return path, "a pipe or device"
		}
	}
	return "", ""
}

// resolve returns the files, and what is not a file: stdin, pipes and kustomizations. Stdin may
// never end: resolve does not wait for it once ctx has ended, and the process ends then.
func (m *manifestFlags) resolve(ctx context.Context) (paths []string, texts []manifests.Text, err error) {
	type content struct {
		paths []string
		texts []manifests.Text
	}
	c, err := limitread.Await(ctx, func() (c content, err error) {
		c.paths, c.texts, err = m.read(ctx)
		return c, err
	})
	return c.paths, c.texts, err
}

func (m *manifestFlags) read(ctx context.Context) (paths []string, texts []manifests.Text, err error) {
	for _, path := range m.files {
		var text manifests.Text
		switch {
		case path == manifests.Stdin:
			text, err = manifests.ReadStdin(os.Stdin)
		case limitread.IsStream(path):
			text, err = manifests.ReadFile(ctx, path)
		default:
			paths = append(paths, path)
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		texts = append(texts, text)
	}
	if m.recursive {
		if paths, err = manifests.ListRecursively(paths); err != nil {
			return nil, nil, err
		}
	}
	for _, dir := range m.kustomize {
		text, err := kustomize.Build(dir)
		if err != nil {
			return nil, nil, err
		}
		texts = append(texts, text)
	}
	return paths, texts, nil
}
