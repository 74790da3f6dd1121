package command_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestAcknowledgedWritesSurviveKill repeatedly kills a control plane while clients
// write: every acknowledged write must be there after the next start.
func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	t.Parallel()
	const rounds, writers = 3, 4
	dir := filepath.Join(t.TempDir(), "data")
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	for round := range rounds {
		p := program.Up(t, dir)
		client, err := program.NewClient(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		found, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for _, cm := range found.Items {
			have[cm.Name] = true
		}
		for name := range acknowledged {
			if !have[name] {
				t.Errorf("round %d: %s was acknowledged and is gone", round, name)
			}
		}
		var wg sync.WaitGroup
		first := make(chan struct{}, writers)
		for w := range writers {
			wg.Go(func() {
				for n := 0; ; n++ {
					cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("round-%d-%d-%d", round, w, n)}}
					if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
						return // killed
					}
					mu.Lock()
					acknowledged[cm.Name] = true
					mu.Unlock()
					if n == 0 {
						first <- struct{}{}
					}
				}
			})
		}
		select { // a slow disk may take longer than what follows
		case <-first:
		case <-time.After(program.Timeout):
			t.Error("no write was acknowledged")
		}
		timer := time.NewTimer(time.Duration(100+rand.IntN(400)) * time.Millisecond)
		<-timer.C
		p.Kill()
		wg.Wait()
	}
	if len(acknowledged) < rounds {
		t.Errorf("only %d writes were acknowledged", len(acknowledged))
	}
}
