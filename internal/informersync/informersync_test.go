package informersync

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/features"
	featuretesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// The wait ends when the store holds the object, and not before.
func TestWaitTyped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		factory := informers.NewSharedInformerFactory(client, 0)
		informer := factory.Core().V1().ConfigMaps().Informer()
		factory.Core().V1().Secrets().Informer() // receives nothing
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		defer factory.Shutdown()
		defer cancel()

		brief, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		err := WaitTyped(brief, factory, Revisions{"configmaps": 5}, StallTimeout)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the informer of configmaps has received revision 1 of 5") {
			t.Errorf("got %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- WaitTyped(ctx, factory, Revisions{"configmaps": 5, "minions": 9}, StallTimeout) }()
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", ResourceVersion: "5"}}
		if _, err := client.CoreV1().ConfigMaps("ns").Create(ctx, m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, there, err := informer.GetStore().GetByKey("ns/m"); !there || err != nil {
			t.Errorf("not in the store: %v", err)
		}
	})
}

// Without this gate, stores do not know the revision that they hold.
func TestWaitTypedWithoutRevisionOfStore(t *testing.T) {
	featuretesting.SetFeatureDuringTest(t, features.UnlockWhileProcessingFIFO, false) // needs the other
	featuretesting.SetFeatureDuringTest(t, features.AtomicFIFO, false)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		factory := informers.NewSharedInformerFactory(client, 0)
		factory.Core().V1().ConfigMaps().Informer()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		defer factory.Shutdown()
		defer cancel()
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", ResourceVersion: "5"}}
		if _, err := client.CoreV1().ConfigMaps("ns").Create(ctx, m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := WaitTyped(ctx, factory, Revisions{"configmaps": 5}, StallTimeout); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(s); err != nil {
			t.Fatal(err)
		}
		factory := metadatainformer.NewSharedInformerFactory(metadatafake.NewSimpleMetadataClient(s), 0)
		factory.ForResource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Informer()
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		defer factory.Shutdown()
		defer cancel()
		if err := WaitMetadata(ctx, factory, Revisions{"widgets": 7, "example.com/gadgets": 8}, StallTimeout); err != nil {
			t.Errorf("nothing of its own was written: %v", err)
		}
		brief, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if err := WaitMetadata(brief, factory, Revisions{"example.com/widgets": 7}, StallTimeout); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// slowInformer is an informer that receives a revision each second, up to a last one.
type slowInformer struct {
	cache.SharedIndexInformer
	store slowStore
}

func (i slowInformer) GetStore() cache.Store { return i.store }

type slowStore struct {
	cache.Store
	began time.Time
	last  int64
}

func (s slowStore) LastStoreSyncResourceVersion() string {
	return strconv.FormatInt(min(s.last, int64(time.Since(s.began)/time.Second)), 10)
}

// The wait takes as long as something arrives, and ends soon after that.
func TestWaitEndsWhenNothingArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(last int64, stall time.Duration) (took time.Duration, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			slow := slowInformer{store: slowStore{began: began, last: last}}
			err = waitAll(ctx, []informerTarget{{schema.GroupResource{Resource: "pods"}, slow, 30}}, stall)
			return time.Since(began), err
		}
		if took, err := wait(30, StallTimeout); err != nil || took != 30*time.Second {
			t.Errorf("got %v after %v", err, took)
		}
		took, err := wait(20, StallTimeout)
		if want := "the informer of pods has received revision 20 of 30, and nothing for 2s"; err == nil || err.Error() != want || took.Round(time.Second) != 22*time.Second {
			t.Errorf("got %v after %v, want %s", err, took, want)
		}
		if took, err := wait(20, 0); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("without a limit: got %v after %v", err, took)
		}
	})
}

// queuedInformer is an informer whose reflector has received its first list, which no one
// has taken from the queue yet: the store is empty.
type queuedInformer struct {
	cache.SharedIndexInformer
	store  cache.Indexer
	synced bool
}

func (i queuedInformer) GetStore() cache.Store           { return i.store }
func (i queuedInformer) HasSynced() bool                 { return i.synced }
func (i queuedInformer) LastSyncResourceVersion() string { return "7" }

// A first list that is still queued is not in the store: what reads from the store, as the
// authorizer does, would find nothing.
func TestQueuedListIsBehind(t *testing.T) {
	i := queuedInformer{store: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)}
	if target := (informerTarget{informer: i, revision: 7}); !target.isBehind() {
		t.Error("an informer with an empty store counts as caught up")
	}
	i.synced = true // the feature gate AtomicFIFO is off
	if target := (informerTarget{informer: i, revision: 7}); target.isBehind() {
		t.Error("an informer whose store does not know its revision counts as behind for ever")
	}
}
