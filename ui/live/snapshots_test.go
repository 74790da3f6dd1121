package live

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// controllerNames are some of the real controllers; the first three have work in
// burstSnapshot.
var controllerNames = []string{
	"deployment-controller", "replicaset-controller", "endpointslice-controller",
	"bootstrap-signer-controller", "certificatesigningrequest-approving-controller", "cronjob-controller",
	"daemonset-controller", "disruption-controller", "endpoints-controller", "ephemeral-volume-controller",
	"garbage-collector-controller", "horizontal-pod-autoscaler-controller", "job-controller", "namespace-controller",
	"persistentvolume-binder-controller", "pod-garbage-collector-controller", "resourcequota-controller",
	"serviceaccount-controller", "serviceaccount-token-controller", "statefulset-controller", "token-cleaner-controller",
	"ttl-after-finished-controller", "validatingadmissionpolicy-status-controller",
}

// queueNames returns the queues of a controller.
func queueNames(controller string) []string {
	switch controller {
	case "endpointslice-controller":
		return []string{"endpoint_slice", "endpoint_slice_topology"}
	case "garbage-collector-controller":
		return []string{"garbage_collector_attempt_to_delete", "garbage_collector_attempt_to_orphan", "garbage_collector_graph_changes"}
	case "pod-garbage-collector-controller":
		return nil
	}
	return []string{strings.TrimSuffix(controller, "-controller")}
}

// idleSnapshot is a settled control plane.
func idleSnapshot() observe.Snapshot {
	s := observe.Snapshot{
		Time: testNow,
		Process: observe.Process{
			Name: "dev", Version: "v0.3.0", Kubernetes: "v1.37.1", URL: "https://127.0.0.1:6443", PID: 4711,
			State: observe.Ready, Started: startTime, Settled: true,
			Requests: 5120, RequestRate: 0.4, EtcdRevision: 1234, EtcdBytes: 4_400_000, MemoryBytes: 222_000_000, CPUPercent: 2.6,
		},
		Journal: observe.JournalStats{Last: 2000, First: 1, Size: 10000},
	}
	for _, name := range controllerNames {
		s.Controllers = append(s.Controllers, observe.Controller{Name: name, State: stateRunning})
		for _, q := range queueNames(name) {
			s.Queues = append(s.Queues, observe.Queue{
				Controller: name, Name: q, Workers: 5, Delayed: -1, Adds: 12, Gets: 12, Done: 12,
				History: make([]observe.Sample, historySamples),
			})
		}
	}
	return s
}

// burstSnapshot is a control plane in which 500 Deployments were just created.
func burstSnapshot() observe.Snapshot {
	s := idleSnapshot()
	s.Process.Settled, s.Process.RequestRate, s.Process.CPUPercent = false, 1432, 173
	s.Process.Busy = []string{"deployment-controller", "replicaset-controller", "endpointslice-controller"}
	s.Process.EtcdRevision, s.Process.EtcdBytes, s.Journal.Dropped = 9876, 24_400_000, 1234
	for i := range s.Controllers {
		c := &s.Controllers[i]
		if slices.Contains(s.Process.Busy, c.Name) {
			c.Running = []observe.RunningSync{
				{Queue: queueNames(c.Name)[0], ID: 1, Key: "default/web-17", KeyBasis: observe.BasisLog, Since: testNow},
				{Queue: queueNames(c.Name)[0], ID: 2, Key: "default/web-18", KeyBasis: observe.BasisLog, Since: testNow},
			}
		}
	}
	for i := range s.Queues {
		q := &s.Queues[i]
		switch q.Name {
		case "deployment":
			q.MaxDepth = 402
			q.Depth, q.InFlight, q.AddRate, q.DoneRate, q.Retries, q.ErrorRetries = 312, 5, 241.3, 180.25, 19, 17
			q.Wait.Recent = observe.Quantiles{Count: 900, P50: 840 * time.Millisecond, P99: 2100 * time.Millisecond}
			q.Work.Recent = observe.Quantiles{Count: 900, P50: 8200 * time.Microsecond, P99: 31 * time.Millisecond}
			setRisingHistory(q, 500, 60)
		case "replicaset":
			q.Depth, q.InFlight, q.AddRate, q.DoneRate = 1874, 5, 1320, 961
			q.Wait.Recent = observe.Quantiles{Count: 3000, P50: 1200 * time.Millisecond, P99: 4 * time.Second}
			q.Work.Recent = observe.Quantiles{Count: 3000, P50: 640 * time.Microsecond, P99: 12 * time.Millisecond}
			setRisingHistory(q, 1900, 25)
		case "endpoint_slice":
			q.InFlight, q.AddRate, q.DoneRate = 1, 3.2, 3.2
			q.Wait.Recent = observe.Quantiles{Count: 12, P50: 12 * time.Microsecond, P99: 230 * time.Microsecond}
			q.Work.Recent = observe.Quantiles{Count: 12, P50: 90 * time.Microsecond, P99: 1500 * time.Microsecond}
			setRisingHistory(q, 3, 12)
		}
	}
	return s
}

// setRisingHistory gives a queue a history that rises to a depth.
func setRisingHistory(q *observe.Queue, to int64, seconds int) {
	for i := range seconds {
		q.History[historySamples-seconds+i].MaxDepth = to * int64(i+1) / int64(seconds)
	}
}

// troubledSnapshot has a stopped controller, a failed one, and one with a failing
// key.
func troubledSnapshot() observe.Snapshot {
	s := idleSnapshot()
	s.Process.Settled, s.Process.Busy = false, []string{"job-controller"}
	for i := range s.Controllers {
		c := &s.Controllers[i]
		switch c.Name {
		case "cronjob-controller":
			c.State, c.Reason = stateOff, "stopped by request"
		case "pod-garbage-collector-controller":
			c.State = stateOff
		case "namespace-controller":
			c.State, c.Reason = stateFailed, "cannot list namespaces: connection refused"
		case "job-controller":
			*c = failingJobController()
		}
	}
	for i := range s.Queues {
		if q := &s.Queues[i]; q.Name == "job" {
			q.InFlight, q.AddRate, q.DoneRate, q.Retries, q.ErrorRetries, q.Delayed = 1, 0.4, 0.4, 12, 9, 2
			q.NextDue = testNow.Add(12 * time.Second)
			q.Work.Recent = observe.Quantiles{Count: 9, P50: 3 * time.Millisecond, P99: 5 * time.Millisecond}
			q.Wait.Recent = observe.Quantiles{Count: 9, P50: 30 * time.Microsecond, P99: 45 * time.Microsecond}
			q.Longest = 2 * time.Second
			q.Waiting = []observe.Object{{Group: "batch", Resource: "jobs", Kind: "Job", Namespace: "default", Name: "import"}}
			setRisingHistory(q, 20, 60)
		}
	}
	return s
}

func failingJobController() observe.Controller {
	return observe.Controller{
		Name: "job-controller", Aliases: []string{"job"}, State: stateRunning, Watches: []string{"jobs.batch", "pods"},
		Writes:    []observe.WriteCount{{Verb: "create", Resource: "pods", Count: 1204}, {Verb: "update", Resource: "jobs.batch/status", Count: 12}},
		Delivered: 2310, Reads: 4, Changes: 1216, Errors: 9, Conflicts: 1, Syncs: 1300, Failures: 9,
		Running: []observe.RunningSync{{Queue: "job", ID: 71, Key: "default/import", KeyBasis: observe.BasisEvent, Since: testNow.Add(-2 * time.Second)}},
		Failing: []observe.FailingKey{
			{Queue: "job", Key: "default/broken", KeyBasis: observe.BasisLog, Times: 9, Last: testNow.Add(-4 * time.Second),
				Error: `pods "broken-" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10, limited: pods=10`},
			{Queue: "job", Times: 1, Last: testNow.Add(-65 * time.Second)},
		},
	}
}
