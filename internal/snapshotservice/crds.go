package snapshotservice

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// discoveryPollInterval is how often discovery is read until it has changed.
const discoveryPollInterval = 2 * time.Millisecond

// changedCRD is a CustomResourceDefinition that a restore has changed.
type changedCRD struct {
	prefix   string // of the objects that it defines: see storekeys.Key
	resource string
	versions map[string]bool // GROUP/VERSION → whether it should be served now
	replaced bool            // created, deleted, or another object with the same name
}

func changedCRDs(before, want snapshot.State, written etcd.WriteResult) (crds []changedCRD) {
	for key := range written.Revisions {
		if storekeys.ResourcePrefix(key) != storekeys.CustomResourceDefinitions {
			continue
		}
		was, is := decodeCRD(before, key), decodeCRD(want, key)
		k := changedCRD{versions: map[string]bool{}, replaced: was == nil || is == nil || was.UID != is.UID}
		for _, d := range []*apiextensionsv1.CustomResourceDefinition{was, is} {
			if d == nil {
				continue
			}
			k.resource, k.prefix = d.Spec.Names.Plural, storekeys.PrefixOf(d.Spec.Group, d.Spec.Names.Plural)
			for _, v := range d.Spec.Versions {
				k.versions[d.Spec.Group+"/"+v.Name] = d == is && v.Served && isEstablished(d)
			}
		}
		if k.resource != "" {
			crds = append(crds, k)
		}
	}
	return crds
}

// decodeCRD returns the CustomResourceDefinition at a key; nil if there is none, or if
// it is encrypted.
func decodeCRD(s snapshot.State, key string) *apiextensionsv1.CustomResourceDefinition {
	entry := entryOf(s, key)
	if entry == nil {
		return nil
	}
	d := &apiextensionsv1.CustomResourceDefinition{}
	if json.Unmarshal(entry.Value, d) != nil {
		return nil
	}
	return d
}

func isEstablished(d *apiextensionsv1.CustomResourceDefinition) bool {
	return apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established)
}

// waitForCRD returns when the API server serves the versions that it should serve,
// and no others.
func (s *Service) waitForCRD(ctx context.Context, crd changedCRD) error {
	client, err := discovery.NewDiscoveryClientForConfig(s.cfg.Client)
	if err != nil {
		return err
	}
	tick := time.NewTicker(discoveryPollInterval)
	defer tick.Stop()
	for version, served := range crd.versions {
		for {
			list, err := client.ServerResourcesForGroupVersion(version)
			if err == nil || apierrors.IsNotFound(err) {
				if listsResource(list, crd.resource) == served {
					break
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("discovery does not show the restored state of %s in %s: %w", crd.resource, version, context.Cause(ctx))
			}
		}
	}
	return nil
}

func listsResource(list *metav1.APIResourceList, resource string) bool {
	return list != nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
}
