package controllers

import (
	"context"

	"k8s.io/client-go/tools/cache"
)

// waitTurn makes the sync of the calling goroutine wait, once, if the control plane is
// slowed down.
func (v *informerView) waitTurn(ctx context.Context) {
	if v.gate != nil {
		v.gate.WaitTurn(ctx)
	}
}

// GetIndexer returns the store. A sync usually begins by reading it, and waits there.
func (i ownedInformer) GetIndexer() cache.Indexer {
	store := i.SharedIndexInformer.GetIndexer()
	if f := i.view.filter; f.appliesTo(i.resource) {
		store = filteredIndexer{store, f.keep}
	}
	return pacedIndexer{store, i.view}
}

// GetStore is GetIndexer.
func (i ownedInformer) GetStore() cache.Store { return i.GetIndexer() }

// pacedIndexer is a store of an informer in which syncs wait for their turn. The wait
// ends when the controller stops.
type pacedIndexer struct {
	cache.Indexer
	view *informerView
}

// AddIndexers skips the indexers that an earlier run of the controller has added.
func (p pacedIndexer) AddIndexers(indexers cache.Indexers) error {
	return addMissingIndexers(p.Indexer, indexers, p.Indexer.AddIndexers)
}

func (p pacedIndexer) wait() { p.view.waitTurn(context.Background()) }

func (p pacedIndexer) List() []any {
	p.wait()
	return p.Indexer.List()
}

func (p pacedIndexer) ListKeys() []string {
	p.wait()
	return p.Indexer.ListKeys()
}

func (p pacedIndexer) Get(obj any) (item any, exists bool, err error) {
	p.wait()
	return p.Indexer.Get(obj)
}

func (p pacedIndexer) GetByKey(key string) (item any, exists bool, err error) {
	p.wait()
	return p.Indexer.GetByKey(key)
}

func (p pacedIndexer) Index(indexName string, obj any) ([]any, error) {
	p.wait()
	return p.Indexer.Index(indexName, obj)
}

func (p pacedIndexer) IndexKeys(indexName, indexedValue string) ([]string, error) {
	p.wait()
	return p.Indexer.IndexKeys(indexName, indexedValue)
}

func (p pacedIndexer) ByIndex(indexName, indexedValue string) ([]any, error) {
	p.wait()
	return p.Indexer.ByIndex(indexName, indexedValue)
}
