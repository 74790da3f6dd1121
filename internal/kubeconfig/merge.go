package kubeconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
)

// Merge adds the current context of cfg, with its cluster and user, to the user's kubeconfig
// with the name context, and makes it the current context. It replaces what an earlier
// Merge has added. It returns the file that it has changed, whose mode is 0600 then.
func Merge(context string, cfg *clientcmdapi.Config) (string, error) {
	from, ok := cfg.Contexts[cfg.CurrentContext]
	if !ok || cfg.Clusters[from.Cluster] == nil || cfg.AuthInfos[from.AuthInfo] == nil {
		return "", fmt.Errorf("kubeconfig: context %s: cannot merge, because the current context %q is incomplete", context, cfg.CurrentContext)
	}
	user := clientcmd.NewDefaultPathOptions()
	path := user.GetDefaultFilename()
	if path == "" {
		return "", errors.New("kubeconfig: KUBECONFIG names no file: name one, or unset it")
	}
	if err := rejectStream(path); err != nil {
		return "", err
	}
	// kubectl reads all files: with one that does not parse the new context is useless.
	for _, other := range user.GetLoadingPrecedence() {
		if other == "" || other == path || other == os.DevNull {
			continue
		}
		if err := rejectStream(other); err != nil {
			return "", err
		}
		if _, _, err := loadFile(other); err != nil {
			return "", err
		}
	}
	return path, editFile(path, func(f *editedFile) error {
		if err := f.checkNotForeign(context); err != nil {
			return err
		}
		f.addContext(context, from, cfg.Clusters[from.Cluster], cfg.AuthInfos[from.AuthInfo])
		f.mode = 0o600 // it contains a key now
		return nil
	})
}

// Unmerge removes from the user's kubeconfig what Merge has added with that name for the
// same control plane as cfg, and makes the previous context current again, unless the user
// has selected another one since. It removes a file that Merge has created and that is
// empty now. It is not an error if there is nothing to remove.
func Unmerge(context string, cfg *clientcmdapi.Config) error {
	current, ok := cfg.Contexts[cfg.CurrentContext]
	if !ok || cfg.Clusters[current.Cluster] == nil {
		return fmt.Errorf("kubeconfig: context %s: cannot remove it, because the current context %q of the control plane is incomplete", context, cfg.CurrentContext)
	}
	own := cfg.Clusters[current.Cluster]
	var first error
	for _, path := range clientcmd.NewDefaultPathOptions().GetLoadingPrecedence() {
		if path == "" || limitread.IsStream(path) { // Merge changes none of these
			continue
		}
		if err := unmergeFile(path, context, own); first == nil {
			first = err
		}
	}
	return first
}

// rejectStream refuses a pipe or a device, which cannot be replaced, and may have no end.
func rejectStream(path string) error {
	if !limitread.IsStream(path) {
		return nil
	}
	return fmt.Errorf("kubeconfig %s is a pipe or a device, not a regular file: name another file in KUBECONFIG", path)
}

func unmergeFile(path, context string, own *clientcmdapi.Cluster) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := editFile(path, func(f *editedFile) error {
		f.removeContext(context, own)
		return nil
	})
	if fileerror.IsNotWritable(err) {
		// Only an error if there is something to remove. Merge changes no file that it cannot read.
		cfg, _, loadErr := loadFile(path)
		if errors.Is(loadErr, fs.ErrPermission) || loadErr == nil && !(&editedFile{Config: cfg}).removeContext(context, own) {
			return nil
		}
	}
	return err
}

func (f *editedFile) checkNotForeign(name string) error {
	var what string
	if o, ok := f.Contexts[name]; ok && !hasMark(o.Extensions) {
		what = "context"
	} else if o, ok := f.Clusters[name]; ok && !hasMark(o.Extensions) {
		what = "cluster"
	} else if o, ok := f.AuthInfos[name]; ok && !hasMark(o.Extensions) {
		what = "user"
	}
	if what == "" {
		return nil
	}
	return fmt.Errorf("kubeconfig %s has a %s %s that ctrlplane has not created: rename or delete it, or choose another --name", f.path, what, name)
}

func (f *editedFile) addContext(name string, context *clientcmdapi.Context, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
	m := ownerMark{Previous: f.CurrentContext, Created: !f.existed || f.createdByUs()}
	context, cluster, user = context.DeepCopy(), cluster.DeepCopy(), user.DeepCopy()
	context.Cluster, context.AuthInfo = name, name
	if old, ok := f.Contexts[name]; ok {
		// Keeps what the user has set since (kubectl config set-context).
		context.Namespace = old.Namespace
		context.Extensions = maps.Clone(old.Extensions)
		was := readOwnerMark(old.Extensions).Previous
		if f.CurrentContext == name {
			m.Previous = was
		} else {
			f.relinkPrevious(name, was) // else two contexts could refer to each other
		}
	}
	context.Extensions = m.addTo(context.Extensions)
	cluster.Extensions = readOwnerMark(cluster.Extensions).addTo(cluster.Extensions)
	user.Extensions = ownerMark{}.addTo(user.Extensions)
	f.Contexts[name], f.Clusters[name], f.AuthInfos[name] = context, cluster, user
	f.CurrentContext = name
}

// removeContext reports whether there was anything to remove. The certificate authority
// belongs to one control plane; two of the same name may have had the same port.
func (f *editedFile) removeContext(name string, own *clientcmdapi.Cluster) bool {
	if o, ok := f.Clusters[name]; ok && !bytes.Equal(o.CertificateAuthorityData, own.CertificateAuthorityData) {
		return false // of another control plane with that name
	}
	found := false
	for key, context := range f.Contexts {
		// The user may have renamed it.
		if !hasMark(context.Extensions) || key != name && context.Cluster != name {
			continue
		}
		found = true
		m := readOwnerMark(context.Extensions)
		delete(f.Contexts, key)
		if f.CurrentContext == key {
			f.CurrentContext = m.Previous
		}
		f.relinkPrevious(key, m.Previous)
		f.removeIfEmpty = f.removeIfEmpty || m.Created
	}
	if o, ok := f.Clusters[name]; ok && hasMark(o.Extensions) {
		delete(f.Clusters, name)
		found = true
	}
	if o, ok := f.AuthInfos[name]; ok && hasMark(o.Extensions) {
		delete(f.AuthInfos, name)
		found = true
	}
	return found
}

// relinkPrevious replaces key by previous as the previous context of other control planes,
// which were merged while key was current.
func (f *editedFile) relinkPrevious(key, previous string) {
	for _, context := range f.Contexts {
		if m := readOwnerMark(context.Extensions); hasMark(context.Extensions) && m.Previous == key {
			m.Previous = previous
			context.Extensions = m.addTo(context.Extensions)
		}
	}
}

func (f *editedFile) createdByUs() bool {
	for _, context := range f.Contexts {
		if readOwnerMark(context.Extensions).Created {
			return true
		}
	}
	return false
}

// editedFile is a kubeconfig file that is being edited.
type editedFile struct {
	*clientcmdapi.Config
	path          string
	existed       bool
	mode          os.FileMode
	removeIfEmpty bool // remove the file if it is empty after the change
}
