package kubeconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Merge puts the current context of cfg, with its cluster and user, into the
// user's kubeconfig under the name of context, replaces what an earlier Merge
// put there, and makes it the current one. It returns the file it changed, and
// leaves that file with mode 0600.
func Merge(context string, cfg *clientcmdapi.Config) (string, error) {
	from, ok := cfg.Contexts[cfg.CurrentContext]
	if !ok || cfg.Clusters[from.Cluster] == nil || cfg.AuthInfos[from.AuthInfo] == nil {
		return "", fmt.Errorf("kubeconfig: context %s: nothing to merge, the current context %q is not complete", context, cfg.CurrentContext)
	}
	user := clientcmd.NewDefaultPathOptions()
	path := user.GetDefaultFilename()
	if path == "" {
		return "", errors.New("kubeconfig: KUBECONFIG names no file: name one, or unset it")
	}
	// A file that kubectl could not read would make the new context useless.
	for _, other := range user.GetLoadingPrecedence() {
		if other == "" || other == path {
			continue
		}
		if _, _, err := load(other); err != nil {
			return "", err
		}
	}
	return path, edit(path, func(f *file) error {
		if err := f.refuseForeign(context); err != nil {
			return err
		}
		f.add(context, from, cfg.Clusters[from.Cluster], cfg.AuthInfos[from.AuthInfo])
		f.mode = 0o600 // it holds a key now
		return nil
	})
}

// Unmerge removes from the user's kubeconfig what Merge added under that name,
// and makes the context current again that was so before, unless the user has
// chosen another meanwhile. It removes a file that Merge made and that is empty
// now. There may be nothing to do.
func Unmerge(context string) error {
	var first error
	for _, path := range clientcmd.NewDefaultPathOptions().GetLoadingPrecedence() {
		if path == "" {
			continue
		}
		if err := unmerge(path, context); first == nil {
			first = err
		}
	}
	return first
}

func unmerge(path, context string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := edit(path, func(f *file) error {
		f.remove(context)
		return nil
	})
	if errors.Is(err, fs.ErrPermission) {
		// It matters only if there was something to do.
		if cfg, _, loadErr := load(path); loadErr == nil && !(&file{Config: cfg}).remove(context) {
			return nil
		}
	}
	return err
}

func (f *file) refuseForeign(name string) error {
	var what string
	if o, ok := f.Contexts[name]; ok && !marked(o.Extensions) {
		what = "context"
	} else if o, ok := f.Clusters[name]; ok && !marked(o.Extensions) {
		what = "cluster"
	} else if o, ok := f.AuthInfos[name]; ok && !marked(o.Extensions) {
		what = "user"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("kubeconfig %s has a %s %s that ctrlplane did not make: rename or delete it, or choose another --name", f.path, what, name)
}

func (f *file) add(name string, context *clientcmdapi.Context, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
	m := mark{Previous: f.CurrentContext, Created: !f.existed || f.createdByUs()}
	context, cluster, user = context.DeepCopy(), cluster.DeepCopy(), user.DeepCopy()
	context.Cluster, context.AuthInfo = name, name
	if old, ok := f.Contexts[name]; ok {
		// What the user set since (kubectl config set-context) stays.
		context.Namespace = old.Namespace
		context.Extensions = maps.Clone(old.Extensions)
		was := readMark(old.Extensions).Previous
		if f.CurrentContext == name {
			m.Previous = was
		} else {
			f.relink(name, was) // or two could go back to each other
		}
	}
	context.Extensions = m.on(context.Extensions)
	cluster.Extensions = mark{}.on(cluster.Extensions)
	user.Extensions = mark{}.on(user.Extensions)
	f.Contexts[name], f.Clusters[name], f.AuthInfos[name] = context, cluster, user
	f.CurrentContext = name
}

// remove reports whether there was anything to remove.
func (f *file) remove(name string) bool {
	found := false
	for key, context := range f.Contexts {
		// The user may have renamed it.
		if !marked(context.Extensions) || key != name && context.Cluster != name {
			continue
		}
		found = true
		m := readMark(context.Extensions)
		delete(f.Contexts, key)
		if f.CurrentContext == key {
			f.CurrentContext = m.Previous
		}
		f.relink(key, m.Previous)
		f.unmake = f.unmake || m.Created
	}
	if o, ok := f.Clusters[name]; ok && marked(o.Extensions) {
		delete(f.Clusters, name)
		found = true
	}
	if o, ok := f.AuthInfos[name]; ok && marked(o.Extensions) {
		delete(f.AuthInfos, name)
		found = true
	}
	return found
}

// relink makes the contexts of other control planes that were merged while key
// was current go back to what was current before it.
func (f *file) relink(key, previous string) {
	for _, context := range f.Contexts {
		if m := readMark(context.Extensions); marked(context.Extensions) && m.Previous == key {
			m.Previous = previous
			context.Extensions = m.on(context.Extensions)
		}
	}
}

func (f *file) createdByUs() bool {
	for _, context := range f.Contexts {
		if readMark(context.Extensions).Created {
			return true
		}
	}
	return false
}

// file is a kubeconfig while it is edited.
type file struct {
	*clientcmdapi.Config
	path    string
	existed bool
	mode    os.FileMode
	unmake  bool // remove it if nothing is left in it
}
