package snapshotservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// storageTimeout bounds the wait for the API server to give up the storages of changed
// CustomResourceDefinitions, which takes it a second and as long as the requests that use them.
const storageTimeout = 5 * time.Second

// writeSchemas writes the CustomResourceDefinitions before all else if the schema of some of
// them changes. For a second after that, an open watch decodes events with the previous schema,
// which removes fields that it does not know; then the watch ends, and the client continues
// without reading the objects again. So this returns when these watches have ended.
func (s *Service) writeSchemas(ctx context.Context, changed []*apiextensionsv1.CustomResourceDefinition, before, want snapshot.State, began time.Time) (written etcd.WriteResult, err error) {
	if len(changed) == 0 {
		return written, nil
	}
	if err := s.cfg.Store.CheckSpace(before, want); err != nil { // for the rest, too: a part alone could not be undone then
		return written, err
	}
	ctx, cancel := s.limit(ctx)
	defer cancel()
	watches, err := s.watchCustomResources(ctx, changed, before.Revision)
	if err != nil {
		s.cfg.Logger.Warn("restore", "err", err)
	}
	defer stopWatches(watches)
	first := withCRDsOf(before, want)
	written, err = s.cfg.Store.WriteDifferences(ctx, s.cfg.Target.Prefix, before, first)
	s.cfg.Changed(changes(before, first, written, began))
	switch {
	case errors.Is(err, etcd.ErrConcurrentWrite): // of a request that was canceled
		s.cfg.Logger.Warn("restore", "err", err)
	case err != nil:
		return written, err
	}
	s.waitForInformers(ctx, before, first, written)
	if err := awaitEnd(ctx, watches); err != nil {
		s.cfg.Logger.Warn("restore", "err", err)
	}
	return written, nil
}

// crdsWithOtherSchema returns the definitions of before that want has with another
// specification, and that are served: the API server gives each of those a new storage.
func crdsWithOtherSchema(before, want snapshot.State) (list []*apiextensionsv1.CustomResourceDefinition) {
	for _, e := range want.Entries {
		if storekeys.ResourcePrefix(e.Key) != storekeys.CustomResourceDefinitions || bytes.Equal(e.Value, valueOf(before, e.Key)) {
			continue
		}
		if was := decodeCRD(before, e.Key); was != nil && isEstablished(was) && !sameSpec(valueOf(before, e.Key), e.Value) {
			list = append(list, was)
		}
	}
	return list
}

// objectsOf returns the objects of definitions, up to a revision, as snapshot.State.PutAgain.
func objectsOf(crds []*apiextensionsv1.CustomResourceDefinition, revision int64) map[string]int64 {
	prefixes := map[string]int64{}
	for _, crd := range crds {
		prefixes[storekeys.PrefixOf(crd.Spec.Group, crd.Spec.Names.Plural)] = revision
	}
	return prefixes
}

// sameSpec compares what is stored of two definitions: that has the version v1beta1, whose schema
// may be in another place than that of v1. It returns true if one of them is encrypted.
func sameSpec(a, b []byte) bool {
	type definition struct {
		Spec   any `json:"spec"`
		Status struct {
			AcceptedNames any `json:"acceptedNames"`
		} `json:"status"`
	}
	var x, y definition
	return json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || reflect.DeepEqual(x, y)
}

// withCRDsOf returns before with the CustomResourceDefinitions of want. Those that want lacks
// remain, because their objects are deleted before them.
func withCRDsOf(before, want snapshot.State) snapshot.State {
	entries := slices.Clone(before.Entries)
	for _, e := range want.Entries {
		if storekeys.ResourcePrefix(e.Key) != storekeys.CustomResourceDefinitions {
			continue
		}
		if i, ok := findEntry(entries, e.Key); ok {
			entries[i] = e
		} else {
			entries = slices.Insert(entries, i, e)
		}
	}
	before.Entries = entries
	return before
}

// watchCustomResources watches the objects of definitions in all versions that are served, as
// clients do. The API server ends such a watch with the storage that it reads.
func (s *Service) watchCustomResources(ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition, revision int64) (list []watch.Interface, err error) {
	client, err := dynamic.NewForConfig(s.cfg.Client)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, crd := range crds {
		for _, v := range crd.Spec.Versions {
			if !v.Served {
				continue
			}
			of := schema.GroupVersionResource{Group: crd.Spec.Group, Version: v.Name, Resource: crd.Spec.Names.Plural}
			w, err := client.Resource(of).Watch(ctx, metav1.ListOptions{ResourceVersion: strconv.FormatInt(revision, 10)})
			if err != nil {
				errs = append(errs, fmt.Errorf("watch of %s: %w", of, err))
				continue
			}
			list = append(list, w)
		}
	}
	return list, errors.Join(errs...)
}

// awaitEnd returns when the API server has ended all watches.
func awaitEnd(ctx context.Context, watches []watch.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	for _, w := range watches {
		for open := true; open; {
			select {
			case _, open = <-w.ResultChan():
			case <-ctx.Done():
				return fmt.Errorf("watches with the previous schema have not ended: %w", context.Cause(ctx))
			}
		}
	}
	return nil
}

func stopWatches(list []watch.Interface) {
	for _, w := range list {
		w.Stop()
	}
}
