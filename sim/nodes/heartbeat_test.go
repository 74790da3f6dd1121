package nodes

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A node must stay Ready when a renewal fails and is tried again twice, whatever the grace
// period is.
func TestRenewInterval(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{
		0:                30 * time.Second,
		10 * time.Second: 6 * time.Second,
		40 * time.Second: 24 * time.Second,
		50 * time.Second: 30 * time.Second,
		5 * time.Minute:  3 * time.Minute,
	} {
		got := renewInterval(grace)
		if got != want {
			t.Errorf("%v: got %v, want %v", grace, got, want)
		}
		if left := grace - got; grace > 0 && left <= 3*minRenewDelay {
			t.Errorf("%v: %v are left for two more attempts", grace, left)
		}
		if lease := leaseDuration(got); got >= lease || lease < minLeaseDuration {
			t.Errorf("%v: a lease expires between renewals", grace)
		}
	}
}

// newTestHeartbeats renews the Leases of n nodes with a client, until the test ends.
func newTestHeartbeats(t *testing.T, client *fake.Clientset, n int) *heartbeats {
	h := newHeartbeats(t.Context(), client, renewInterval(0), nil, func(node string, err error) { t.Logf("%s: %v", node, err) })
	t.Cleanup(h.stop)
	for i := range n {
		h.startRenewing(testLeaseNode(i))
	}
	return h
}

func testLeaseNode(i int) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i), UID: "1"}}
}

// testLeases returns the Leases of a client, after some time.
func testLeases(t *testing.T, client *fake.Clientset, wait time.Duration) []coordinationv1.Lease {
	time.Sleep(wait)
	synctest.Wait()
	list, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestLeasesAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const nodes = 60
		client := fake.NewClientset()
		var updates atomic.Int64
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			updates.Add(1)
			return false, nil, nil
		})
		h := newTestHeartbeats(t, client, nodes)
		var inSecond []int64
		for range 120 {
			before := updates.Load()
			leases := testLeases(t, client, time.Second)
			if len(leases) != nodes {
				t.Fatalf("%d leases", len(leases))
			}
			for _, lease := range leases {
				if age := time.Since(lease.Spec.RenewTime.Time); age > 30*time.Second {
					t.Fatalf("the lease of %s was renewed %v ago", lease.Name, age)
				}
				if o := lease.OwnerReferences; len(o) != 1 || o[0].Name != lease.Name || *lease.Spec.HolderIdentity != lease.Name {
					t.Fatalf("lease %+v", lease)
				}
			}
			inSecond = append(inSecond, updates.Load()-before)
		}
		if all := updates.Load(); all > 5*nodes {
			t.Errorf("%d renewals of %d leases in 2 minutes", all, nodes)
		}
		for i, n := range inSecond {
			if n > nodes/3 { // the due times are random
				t.Errorf("second %d: %d renewals: they are not spread", i, n)
			}
		}

		h.stopRenewing("node-0")
		for _, lease := range testLeases(t, client, time.Minute) {
			if age := time.Since(lease.Spec.RenewTime.Time); (lease.Name == "node-0") != (age > 31*time.Second) {
				t.Errorf("the lease of %s was renewed %v ago", lease.Name, age)
			}
		}
		h.startRenewing(testLeaseNode(0))
		for _, lease := range testLeases(t, client, time.Second) {
			if age := time.Since(lease.Spec.RenewTime.Time); lease.Name == "node-0" && age > time.Second {
				t.Errorf("renewed %v ago after the node has recovered", age)
			}
		}
	})
}

// A lease of an earlier start has the duration of the present grace period.
func TestLeaseDurationFollowsTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := testLeaseNode(0)
		client := fake.NewClientset(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: node.Name, Namespace: corev1.NamespaceNodeLease},
			Spec:       coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(40))},
		})
		h := newHeartbeats(t.Context(), client, renewInterval(200*time.Second), nil, func(node string, err error) { t.Errorf("%s: %v", node, err) })
		t.Cleanup(h.stop)
		h.startRenewing(node)
		if got := *testLeases(t, client, time.Second)[0].Spec.LeaseDurationSeconds; got != 160 {
			t.Errorf("the lease lasts %d s, want four thirds of the 120 s between renewals", got)
		}
	})
}

// A clock that is set must not change when a lease is due.
func TestLeasesFollowTheMonotonicClock(t *testing.T) {
	h := &heartbeats{interval: 30 * time.Second}
	now := time.Now()
	due := h.nextDue(now, false)
	if in := due.Sub(now); in <= 28*time.Second || in > 30*time.Second {
		t.Errorf("due in %v", in)
	}
	if !strings.Contains(due.String(), " m=") {
		t.Errorf("%s has no monotonic clock", due)
	}
}

// An API server that fails for a while must not make nodes unready.
func TestFailedRenewalIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var failing time.Time
		client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if a.GetVerb() != "list" && time.Since(failing) < 10*time.Second {
				return true, nil, errors.New("etcd is slow")
			}
			return false, nil, nil
		})
		newTestHeartbeats(t, client, 1)
		testLeases(t, client, time.Second)
		for i := range 300 {
			if i%60 == 0 {
				failing = time.Now()
			}
			for _, lease := range testLeases(t, client, time.Second) {
				if age := time.Since(lease.Spec.RenewTime.Time); age > 48*time.Second {
					t.Fatalf("the lease was renewed %v ago", age)
				}
			}
		}
	})
}

// Renewals that are refused are recorded, as nothing else says why the node is not Ready. Others are not.
func TestFailedRenewalIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe.New(observe.Options{})
		defer o.Close()
		client := fake.NewClientset()
		var refuses atomic.Bool
		client.PrependReactor("*", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
			return refuses.Load() && a.GetVerb() != "list", nil, errors.New(`webhook "w.example.com" is down`)
		})
		h := newHeartbeats(t.Context(), client, renewInterval(0), o.Recorder("kubelet").KeyedQueue("leases"), func(string, error) {})
		defer h.stop()
		h.startRenewing(testLeaseNode(0))
		expect := func(after time.Duration, least int) {
			t.Helper()
			testLeases(t, client, after)
			var failing []observe.FailingKey
			s, err := o.Snapshot(t.Context())
			for _, c := range s.Controllers {
				failing = append(failing, c.Failing...)
			}
			switch {
			case err != nil:
				t.Error(err)
			case least == 0 && len(failing) > 0:
				t.Errorf("failing: %+v", failing)
			case least > 0 && (len(failing) != 1 || failing[0].Times < least || failing[0].Key != "kube-node-lease/node-0" || !strings.Contains(failing[0].Error, "w.example.com")):
				t.Errorf("failing: %+v, want the lease of node-0 at least %d times", failing, least)
			}
		}
		expect(time.Minute, 0)
		refuses.Store(true)
		expect(time.Minute, 3)
		refuses.Store(false)
		expect(10*time.Second, 0)
		refuses.Store(true)
		expect(time.Minute, 3)
		h.stopRenewing("node-0")
		expect(time.Second, 0)

		page, err := o.Records(t.Context(), observe.Query{})
		if err != nil {
			t.Fatal(err)
		}
		succeeded := 0
		for _, r := range page.Records {
			if s, ok := r.Event.(*observe.Synced); ok && !s.Failed() {
				succeeded++
			}
		}
		if succeeded != 1 {
			t.Errorf("%d renewals that have succeeded are recorded, want the one after the failures", succeeded)
		}
	})
}

// A Lease that another client has changed or deleted is renewed all the same.
func TestLeaseOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		leases := client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
		conflicts := 0
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if conflicts++; conflicts == 1 {
				return true, nil, apierrors.NewConflict(coordinationv1.SchemeGroupVersion.WithResource("leases").GroupResource(), "node-0", errors.New("changed"))
			}
			return false, nil, nil
		})
		newTestHeartbeats(t, client, 1)
		lease := testLeases(t, client, 35*time.Second)[0]
		if age := time.Since(lease.Spec.RenewTime.Time); age > 30*time.Second || conflicts < 2 {
			t.Errorf("renewed %v ago, %d updates", age, conflicts)
		}
		if err := leases.Delete(t.Context(), "node-0", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if len(testLeases(t, client, 30*time.Second)) != 1 {
			t.Error("a lease that was deleted is not created again")
		}
	})
}

// A Lease that is deleted between its read and its renewal, as by the garbage collector when its
// Node has been replaced, is created again.
func TestLeaseDeletedDuringRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "node-0", Namespace: corev1.NamespaceNodeLease}})
		leases := coordinationv1.SchemeGroupVersion.WithResource("leases")
		var once sync.Once
		client.PrependReactor("update", "leases", func(a clienttesting.Action) (_ bool, _ runtime.Object, err error) {
			once.Do(func() { err = client.Tracker().Delete(leases, a.GetNamespace(), "node-0") })
			return err != nil, nil, err
		})
		newTestHeartbeats(t, client, 1)
		if len(testLeases(t, client, maxRenewDelay)) != 1 {
			t.Error("the lease is not created again")
		}
	})
}
