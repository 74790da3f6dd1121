package nodes

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// A node must stay Ready when one renewal fails, whatever the grace period is.
func TestRenewInterval(t *testing.T) {
	for grace, want := range map[time.Duration]time.Duration{
		0:                20 * time.Second,
		10 * time.Second: 4 * time.Second,
		40 * time.Second: 16 * time.Second,
		50 * time.Second: 20 * time.Second,
		5 * time.Minute:  20 * time.Second,
	} {
		got := renewInterval(grace)
		if got != want {
			t.Errorf("%v: got %v, want %v", grace, got, want)
		}
		if grace > 0 && 2*got >= grace {
			t.Errorf("%v: a renewal that fails once is not made up for within the grace period", grace)
		}
	}
}

func TestLeaseIsRenewedWithinTheGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const grace = 50 * time.Second
		client := fake.NewClientset()
		h := newHeartbeats(t.Context(), client, renewInterval(grace))
		h.startRenewing(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "1"}})
		renewed := map[time.Time]bool{}
		for range 120 {
			time.Sleep(time.Second)
			synctest.Wait()
			lease, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(t.Context(), "node-1", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if age := time.Since(lease.Spec.RenewTime.Time); age > grace/2 {
				t.Errorf("the lease was renewed %v ago", age)
			}
			renewed[lease.Spec.RenewTime.Time] = true
		}
		if len(renewed) > 7 {
			t.Errorf("renewed %d times in 2 minutes, want a renewal every 20 s", len(renewed))
		}
		h.stopRenewing("node-1")
		h.wait()
	})
}
