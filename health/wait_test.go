package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

var (
	web  = Ref{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "shop", "web"}
	podP = Ref{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "shop", "p"}
	wid  = Ref{schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, "shop", "w"}
)

// waitResult has the progress and the result of a wait.
type waitResult struct {
	progress []string
	err      error
	took     time.Duration
}

// start waits in the background for at most ten seconds.
func (c *cluster) start(t *testing.T, o Options, refs ...Ref) (*waitResult, <-chan struct{}) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("timed out"))
	w, done, began := &waitResult{}, make(chan struct{}), time.Now()
	o.Progress = func(s State) { w.progress = append(w.progress, fmt.Sprintf("%s %s: %s", s.Ref, s.Status, s.Message)) }
	go func() {
		defer close(done)
		defer cancel()
		w.err = c.Wait(ctx, refs, o)
		w.took = time.Since(began)
	}()
	return w, done
}

func TestWaitsUntilAllAreHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, justMade)
		w, done := c.start(t, Options{}, web, podP, web)
		synctest.Wait()
		c.update(t, deployments, rolledOut)
		synctest.Wait()
		c.update(t, deployments, rolledOut) // no change
		synctest.Wait()
		c.create(t, pods, runningPod)
		<-done
		want := []string{
			"Deployment shop/web InProgress: Replicas: 0/2",
			"Pod shop/p NotFound: does not exist",
			"Deployment shop/web Current: Deployment is available. Replicas: 2",
			"Pod shop/p Current: Pod is Ready",
		}
		if w.err != nil || w.took != 0 {
			t.Errorf("got %v after %v, want nil at once", w.err, w.took)
		}
		// The two kinds are watched concurrently.
		if len(w.progress) == 4 && w.progress[0] == want[1] {
			w.progress[0], w.progress[1] = w.progress[1], w.progress[0]
		}
		if diff := cmp.Diff(want, w.progress); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWaitForNoObjects(t *testing.T) {
	if err := newCluster(t).Wait(t.Context(), nil, Options{}); err != nil {
		t.Error(err)
	}
}

func TestDeadlineReportsReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, rolledOut, `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`)
		w, done := c.start(t, Options{}, web, podP)
		<-done
		bad, ok := errors.AsType[*NotHealthyError](w.err)
		if !ok || w.took != 10*time.Second {
			t.Fatalf("got %v after %v", w.err, w.took)
		}
		want := []Unhealthy{{State{Ref: podP, Status: NotFound, Message: "does not exist", Resource: "pods"}, "does not exist"}}
		if diff := cmp.Diff(want, bad.Objects); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if want := "1 of 2 objects not healthy: Pod shop/p: timed out"; w.err.Error() != want {
			t.Errorf("got  %v\nwant %s", w.err, want)
		}
	})
}

func TestReturnsEarlyOnFinalFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, failedPod)
		w, done := c.start(t, Options{}, podP)
		<-done
		bad, ok := errors.AsType[*NotHealthyError](w.err)
		if !ok || w.took != 0 || bad.Cause != nil || bad.Objects[0].Reason != "Evicted: The node was low on memory." {
			t.Errorf("got %+v after %v, want the reason at once", w.err, w.took)
		}
	})
}

// slowLists lists one kind late.
type slowLists struct {
	dynamic.Interface
	kind  schema.GroupVersionResource
	after time.Duration
}

func (s slowLists) Resource(r schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	resource := s.Interface.Resource(r)
	if r == s.kind {
		return slowResource{resource, s.after}
	}
	return resource
}

type slowResource struct {
	dynamic.NamespaceableResourceInterface
	after time.Duration
}

func (s slowResource) Namespace(ns string) dynamic.ResourceInterface {
	return slowNamespace{s.NamespaceableResourceInterface.Namespace(ns), s.after}
}

type slowNamespace struct {
	dynamic.ResourceInterface
	after time.Duration
}

func (s slowNamespace) List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	sleep.For(ctx, s.after)
	return s.ResourceInterface.List(ctx, o)
}

// That one object has failed says nothing about those that were not seen yet.
func TestFinalFailureWaitsForTheOthers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers time.Duration
		want    int
	}{{"soon", time.Second, 1}, {"never", time.Hour, 2}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, failedPod, rolledOut)
				c.Waiter.objects = slowLists{c.objects, deployments, tt.answers}
				w, done := c.start(t, Options{}, web, podP)
				<-done
				bad, ok := errors.AsType[*NotHealthyError](w.err)
				if !ok || len(bad.Objects) != tt.want || w.took > reasonTimeout+tt.answers {
					t.Errorf("got %v after %v, want %d objects", w.err, w.took, tt.want)
				}
			})
		})
	}
}

func TestWaitsUntilGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, failedPod)
		w, done := c.start(t, Options{Gone: true}, podP, wid) // no Widgets are served
		synctest.Wait()
		if err := c.objects.Tracker().Delete(pods, "shop", "p"); err != nil {
			t.Fatal(err)
		}
		<-done
		if w.err != nil || w.took != 0 {
			t.Errorf("got %v after %v", w.err, w.took)
		}
	})
}

func TestWaitForDeletionTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, done := newCluster(t, runningPod).start(t, Options{Gone: true}, podP)
		<-done
		bad, ok := errors.AsType[*NotHealthyError](w.err)
		if !ok || bad.Objects[0].Reason != "its deletion was not requested" || bad.Error() != "1 of 1 object not gone: Pod shop/p: timed out" {
			t.Errorf("got %v", w.err)
		}
	})
}

func TestWaitsForNewKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		groups, anywhere := len(c.kinds.Resources), wid
		anywhere.Namespace = ""
		c.create(t, widgets, `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: default, name: w}}`)
		began := time.Now()
		c.kinds.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
			if time.Since(began) > 3*time.Second && len(c.kinds.Resources) == groups {
				c.serve("example.com/v1", "widgets", "Widget", true)
			}
			return false, nil, nil
		})
		w, done := c.start(t, Options{}, anywhere)
		<-done
		want := []string{
			"Widget w NotFound: kind Widget in example.com/v1: not served by the API server",
			"Widget default/w Current: Resource is current",
		}
		if diff := cmp.Diff(want, w.progress); diff != "" || w.err != nil || w.took > 4200*time.Millisecond {
			t.Errorf("got %v after %v (-want +got):\n%s", w.err, w.took, diff)
		}
	})
}

// The versions of the groups of Kubernetes are known: one that is not served will not be.
func TestRefusesUnservedVersion(t *testing.T) {
	for want, gvk := range map[string]schema.GroupVersionKind{
		"kind PodDisruptionBudget is not served in policy/v1beta1 but in policy/v1: correct its apiVersion":                                 {Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"},
		"kind Ingress is not served in extensions/v1beta1 but in networking.k8s.io/v1: correct its apiVersion":                              {Group: "extensions", Version: "v1beta1", Kind: "Ingress"},
		"the control plane does not serve kind PodSecurityPolicy in policy/v1beta1, a group of Kubernetes: correct its kind and apiVersion": {Group: "policy", Version: "v1beta1", Kind: "PodSecurityPolicy"},
		"the control plane does not serve kind Widget in v1, a group of Kubernetes: correct its kind and apiVersion":                        {Version: "v1", Kind: "Widget"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, runningPod)
			w, done := c.start(t, Options{}, podP, Ref{gvk, "shop", "p"})
			<-done
			bad, ok := errors.AsType[*NotHealthyError](w.err)
			if !ok || len(bad.Objects) != 1 || bad.Objects[0].Reason != want || w.took != 0 {
				t.Errorf("got %+v after %v, want %s", w.err, w.took, want)
			}
			w, done = c.start(t, Options{Gone: true}, Ref{gvk, "shop", "p"})
			if <-done; w.err != nil {
				t.Errorf("waiting until it is gone: %v", w.err)
			}
		})
	}
}

func TestRefusesKindWithoutWatch(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t)
			c.serve("example.com/v1", "widgets", "Widget", true, "create")
			w, done := c.start(t, Options{Gone: gone}, wid)
			<-done
			bad, ok := errors.AsType[*NotHealthyError](w.err)
			want := "kind Widget in example.com/v1 has no verb list: cannot be watched"
			if !ok || bad.Objects[0].Reason != want || w.took != 0 {
				t.Errorf("gone %v: got %+v after %v", gone, w.err, w.took)
			}
		})
	}
}

func TestRetriesForbiddenList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, runningPod)
		var refused atomic.Bool
		refused.Store(true)
		c.objects.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return refused.Load(), nil, apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rule\nallows it"))
		})
		w, done := c.start(t, Options{}, podP)
		time.Sleep(time.Second)
		synctest.Wait()
		refused.Store(false)
		<-done
		want := []string{
			`Pod shop/p Unknown: pods is forbidden: no rule allows it`,
			"Pod shop/p Current: Pod is Ready",
		}
		if diff := cmp.Diff(want, w.progress); diff != "" || w.err != nil {
			t.Errorf("%v (-want +got):\n%s", w.err, diff)
		}
	})
}

func TestCanceledContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err := newCluster(t, justMade).Wait(ctx, []Ref{web}, Options{Progress: func(State) { cancel(enough) }})
	if !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

// The reasons of many objects need each list once: one for each object would take longer than
// there is time.
func TestReasonsOfManyObjectsShareLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var manifests []string
		var refs []Ref
		for i := range 40 {
			name := fmt.Sprintf("web-%d", i)
			refs = append(refs, Ref{web.GroupVersionKind, "shop", name})
			manifests = append(manifests,
				strings.ReplaceAll(justMade, "name: web", "name: "+name),
				fmt.Sprintf(`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: shop, name: %[1]s-a,
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: %[1]s, uid: uid-of-%[1]s, controller: true}]}}`, name),
				fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: %[1]s-a-b,
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %[1]s-a, uid: uid-of-%[1]s-a, controller: true}]}}`, name),
				warning(name+"-a-b", "FailedScheduling", "no node for "+name, "2026-01-01T00:00:00Z"))
		}
		c := newCluster(t, manifests...)
		w, done := c.start(t, Options{}, refs...)
		<-done
		bad, ok := errors.AsType[*NotHealthyError](w.err)
		if !ok || len(bad.Objects) != len(refs) {
			t.Fatalf("got %v", w.err)
		}
		for i, o := range bad.Objects {
			want := fmt.Sprintf("Pod web-%d-a-b: not assigned to a node by a scheduler; last warning: FailedScheduling: no node for web-%d", i, i)
			if o.Reason != want {
				t.Errorf("got %s\nwant %s", o.Reason, want)
			}
		}
		lists := map[string]int{}
		for _, a := range c.objects.Actions() {
			if a.GetVerb() == "list" {
				lists[a.GetResource().Resource]++
			}
		}
		if diff := cmp.Diff(map[string]int{"deployments": 1, "replicasets": 1, "pods": 1, "events": 1}, lists); diff != "" {
			t.Errorf("lists (-want +got):\n%s", diff)
		}
	})
}
