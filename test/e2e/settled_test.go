package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// settledEnv marks the process in which no other test writes.
	settledEnv = "CTRLPLANE_E2E_SETTLED"
	// settledRoundsEnv is the number of rounds with random workloads.
	settledRoundsEnv = "CTRLPLANE_E2E_SETTLED_ROUNDS"
	// seedEnv is the seed of the tests with random steps. These are the same each time otherwise: new ones could
	// fail a change that has nothing to do with them, and are for the weekly tests.
	seedEnv = "CTRLPLANE_E2E_SEED"

	retryHorizon = time.Second // the default of "ctrlplane wait settled"
)

// TestSettled runs the tests below in a child process with a scheduler and simulated
// nodes.
func TestSettled(t *testing.T) {
	t.Logf("%s", runInChild(t, "TestSettle", 3, settledEnv, workloadsEnv))
}

// beginSettled starts each of them.
func beginSettled(t *testing.T) (*observe.Observer, control.Interventions) {
	t.Helper()
	if os.Getenv(settledEnv) == "" {
		t.Skip("run by TestSettled in a process of its own")
	}
	return controlPlane.server.Observer(), newRemoteClient(t).Interventions()
}

// waitUntilSettled waits until the control plane has settled and returns the snapshot
// that showed it.
func waitUntilSettled(t *testing.T, src settled.Source, timeout time.Duration) (observe.Snapshot, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	last := &snapshotRecorder{Source: src}
	err := settled.Wait(ctx, last, retryHorizon, nil)
	return last.snapshot, err
}

// snapshotRecorder keeps the last snapshot.
type snapshotRecorder struct {
	settled.Source
	snapshot observe.Snapshot
}

func (r *snapshotRecorder) Snapshot(ctx context.Context) (s observe.Snapshot, err error) {
	s, err = r.Source.Snapshot(ctx)
	if err == nil {
		r.snapshot = s
	}
	return s, err
}

// requireNoWrites fails if something is written after the control plane has settled:
// anything within the horizon; later, unless it is due to a timer.
func requireNoWrites(t *testing.T, src *observe.Observer, at observe.Snapshot, window time.Duration) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), at.Time.Add(window))
	defer cancel()
	q := observe.Query{After: at.Journal.Last, Kinds: []observe.Kind{observe.KindCalled}}
	for {
		page, err := src.Records(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			e := r.Event.(*observe.Called)
			if !e.IsWrite() || e.IsRoutine() || isHeartbeat(e) {
				continue
			}
			after := e.Began.Sub(at.Time)
			if after > retryHorizon && isDueToTimer(t, src, e, at) {
				return // later writes may follow from it
			}
			page, _ = src.Records(context.Background(), observe.Query{Object: &e.Object, Reads: true})
			t.Fatalf("%v after the control plane had settled: %s\ntimers:\n%s\nqueues:\n%s\nall records of the object:\n%s",
				after, toYAML(r), toYAML(at.Timers), toYAML(queuesDue(at)), toYAML(page.Records))
		}
		q.After = max(q.After, page.Next)
		if src.Wait(ctx, page.Next) != nil {
			return
		}
	}
}

// queuesDue returns the queues with delayed keys, and when the next key is due.
func queuesDue(s observe.Snapshot) map[string]time.Time {
	all := map[string]time.Time{}
	for _, q := range s.Queues {
		if !q.NextDue.IsZero() {
			all[q.Name] = q.NextDue
		}
	}
	return all
}

// isHeartbeat reports whether a call is not part of any pending work: a status that a
// node or the node controller writes at intervals, or a failed retry of a kubelet.
func isHeartbeat(c *observe.Called) bool {
	return c.Object.Resource == "nodes" && c.Subresource == "status" || c.Controller == "simulated-kubelet" && c.Failed()
}

// isDueToTimer reports whether a timer led to a call: one that was known when the
// control plane had settled, or one that added the key of its sync.
func isDueToTimer(t *testing.T, src *observe.Observer, c *observe.Called, at observe.Snapshot) bool {
	t.Helper()
	over := func(due time.Time) bool { return !due.IsZero() && !due.After(c.Began) }
	if slices.ContainsFunc(at.Timers, func(timer observe.Timer) bool { return over(timer.Due) }) ||
		slices.ContainsFunc(at.Queues, func(q observe.Queue) bool { return q.Controller != "kube-apiserver" && over(q.NextDue) }) {
		return true
	}
	if c.Sync == 0 {
		return false
	}
	end := await(t, "end of the sync", fetchRecords[*observe.Synced](src, observe.Query{Sync: c.Sync}), func(l []*observe.Synced) bool { return len(l) > 0 })
	return end[0].Timed
}

// uintFromEnv returns a number from the environment.
func uintFromEnv(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// randomSeed returns the seed of a test with random steps, and logs how to repeat them.
func randomSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uintFromEnv(t, seedEnv, 1)
	t.Logf("%s=%d", seedEnv, seed)
	return seed
}

// Random workloads are changed while they start, with controllers paused, delayed,
// failing, stopped and started. Once the control plane has settled, nothing writes.
func TestSettleRandomWorkloads(t *testing.T) {
	src, interventions := beginSettled(t)
	seed := randomSeed(t)
	rounds := int(uintFromEnv(t, settledRoundsEnv, 6))
	made := 0
	for round := range rounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, uint64(round)))
			s := &randomWorkloads{ns: createNamespace(t), random: random}
			h := newRandomIntervention(random, interventions)
			t.Logf("%v, in namespace %s", h, s.ns)
			h.apply(t)
			t.Cleanup(func() {
				if _, err := h.undo(context.Background()); err != nil {
					t.Error(err)
				}
			})
			for range 20 {
				s.addWorkload(t)
			}
			for range 15 {
				s.changeWorkload(t)
			}
			made += s.created
			lifted := h.scheduleRemoval(t)
			found, err := waitUntilSettled(t, src, h.settleTimeout())
			if _, ok := errors.AsType[*settled.BusyError](err); ok && h.action != "" { // the intervention may keep it from settling
				t.Log(formatBusy(err))
				<-lifted
				mustSucceed(t)(h.undo(t.Context()))
				found, err = waitUntilSettled(t, src, waitTimeout)
			}
			if err != nil {
				t.Fatal(formatBusy(err))
			}
			if <-lifted; h.removedAt.After(found.Time) { // settled except for the stopped controller
				if found, err = waitUntilSettled(t, src, waitTimeout); err != nil {
					t.Fatal(formatBusy(err))
				}
			}
			window := retryHorizon + retryHorizon/5
			if round%4 == 0 {
				window = 3 * retryHorizon
			}
			requireNoWrites(t, src, found, window)
			mustSucceed(t)(h.undo(t.Context()))
			if _, err := waitUntilSettled(t, src, waitTimeout); err != nil {
				t.Fatal(formatBusy(err))
			}
			deleteObject(t, controlPlane.client.CoreV1().Namespaces(), s.ns)
			if found, err = waitUntilSettled(t, src, waitTimeout); err != nil {
				t.Fatal(formatBusy(err))
			}
			requireNoWrites(t, src, found, retryHorizon/4)
		})
	}
	t.Logf("%d workloads in %d rounds", made, rounds)
}

// A control plane that is settled has started the Pods of a new Deployment.
func TestSettleAfterDeployment(t *testing.T) {
	src, _ := beginSettled(t)
	ns := createNamespace(t)
	for i := range 8 {
		if _, err := waitUntilSettled(t, src, waitTimeout); err != nil {
			t.Fatal(err)
		}
		d := newDeployment("registry.invalid/app:1")
		d.Name = fmt.Sprintf("web-%d", i)
		createObject(t, deployments(ns), d)
		if _, err := waitUntilSettled(t, src, waitTimeout); err != nil {
			t.Fatal(err)
		}
		if ready := getObject(t, deployments(ns), d.Name).Status.ReadyReplicas; ready != 3 {
			list, err := pods(ns).List(t.Context(), metav1.ListOptions{})
			t.Errorf("settled with %d Pods ready, want 3: %v: %s", ready, err, toYAML(slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return isRunning(p) })))
		}
	}
}

// awaitSettled waits for what has begun, as the work of earlier tests.
func awaitSettled(t *testing.T, src settled.Source) {
	t.Helper()
	if _, err := waitUntilSettled(t, src, waitTimeout); err != nil {
		t.Fatal(err)
	}
}

// What keeps the control plane from settling names the busy controllers with key, failures and error.
func TestSettleReportsBusyControllers(t *testing.T) {
	src, interventions := beginSettled(t)
	ns := createNamespace(t)
	t.Run("failing", func(t *testing.T) {
		awaitSettled(t, src)
		mustSucceed(t)(interventions.Fail(t.Context(), []string{"replicaset"}, control.Fault{Rate: 1, Code: "500", Verb: "create", Resource: "pods"}))
		defer func() {
			mustSucceed(t)(interventions.Clear(context.WithoutCancel(t.Context()), []string{"replicaset"}))
		}()
		createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
		awaitWork(t, src, "replicaset-controller: ", ns+"/web-", "failed ", "fault injected by ctrlplane")
	})
	t.Run("paused", func(t *testing.T) {
		awaitSettled(t, src)
		mustSucceed(t)(interventions.Pause(t.Context(), []string{"deployment"}))
		defer func() {
			mustSucceed(t)(interventions.Resume(context.WithoutCancel(t.Context()), []string{"deployment"}))
		}()
		d := newDeployment("registry.invalid/app:1")
		d.Name = "held"
		createObject(t, deployments(ns), d)
		awaitWork(t, src, "deployment-controller: ", ns+"/held", "its writes are held")
	})
}

// formatBusy formats an error with the work of the busy controllers.
func formatBusy(err error) string {
	if busy, ok := errors.AsType[*settled.BusyError](err); ok {
		return fmt.Sprintf("%v: %v", err, busy.Work)
	}
	return err.Error()
}

// awaitWork waits until some work that keeps the control plane from settling contains all parts.
func awaitWork(t *testing.T, src settled.Source, parts ...string) {
	t.Helper()
	await(t, fmt.Sprintf("work with %q", parts), func(ctx context.Context) ([]settled.Work, error) {
		s, err := src.Snapshot(ctx)
		return settled.RemainingWork(s, time.Hour), err // whenever the next retry is due
	}, func(list []settled.Work) bool {
		return slices.ContainsFunc(list, func(w settled.Work) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(w.String(), part) })
		})
	})
}
