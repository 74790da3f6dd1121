package ctrlplane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const (
	crdPrefix = "apiextensions.k8s.io/customresourcedefinitions"
	// kindPollInterval is how often to ask whether a kind is served.
	kindPollInterval = 2 * time.Millisecond
)

// changedCRD is a custom kind whose definition a restore has changed.
type changedCRD struct {
	prefix   string // see snapshot.Folder
	resource string
	versions map[string]bool // GROUP/VERSION → whether it is to be served
	replaced bool            // it came, went or is another one under the same name
}

func changedCRDs(before, want snapshot.State, written etcd.WriteResult) (kinds []changedCRD) {
	for key := range written.Revisions {
		if snapshot.ResourcePrefix(key) != crdPrefix {
			continue
		}
		was, is := decodeCRD(before, key), decodeCRD(want, key)
		k := changedCRD{versions: map[string]bool{}, replaced: was == nil || is == nil || was.UID != is.UID}
		for _, d := range []*apiextensionsv1.CustomResourceDefinition{was, is} {
			if d == nil {
				continue
			}
			k.resource, k.prefix = d.Spec.Names.Plural, d.Spec.Group+"/"+d.Spec.Names.Plural
			for _, v := range d.Spec.Versions {
				k.versions[d.Spec.Group+"/"+v.Name] = d == is && v.Served && isEstablished(d)
			}
		}
		if k.resource != "" {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// decodeCRD reads one that is stored; nil if it is not there or cannot be read.
func decodeCRD(s snapshot.State, key string) *apiextensionsv1.CustomResourceDefinition {
	i, ok := slices.BinarySearchFunc(s.Entries, key, func(e snapshot.Entry, key string) int { return strings.Compare(e.Key, key) })
	if !ok {
		return nil
	}
	d := &apiextensionsv1.CustomResourceDefinition{}
	if json.Unmarshal(s.Entries[i].Value, d) != nil {
		return nil // encrypted: nobody can tell
	}
	return d
}

func isEstablished(d *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// waitForKind returns when the kind is served, or not, as it should be.
func (p *controlPlane) waitForKind(ctx context.Context, kind changedCRD) error {
	who := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
	client, err := discovery.NewDiscoveryClientForConfig(p.clientConfig(who))
	if err != nil {
		return err
	}
	tick := time.NewTicker(kindPollInterval)
	defer tick.Stop()
	for version, served := range kind.versions {
		for {
			list, err := client.ServerResourcesForGroupVersion(version)
			if err == nil || apierrors.IsNotFound(err) {
				if listsResource(list, kind.resource) == served {
					break
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("%s of %s is not as it was restored: %w", kind.resource, version, context.Cause(ctx))
			}
		}
	}
	return nil
}

func listsResource(list *metav1.APIResourceList, resource string) bool {
	return list != nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
}
