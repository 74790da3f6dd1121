package ctrlplane

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/clients"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// apiServerName is the controller that the API server's own work queues belong to.
const apiServerName = "kube-apiserver"

func (p *controlPlane) startObserver() {
	registerQueueMetrics()
	meter := procstat.NewMeter()
	follow := sync.OnceFunc(p.observeWrites)
	problems := newProblemCounter(func(of runtime.Object) cache.SharedIndexInformer { return p.supervisor.Informer(of) })
	failing := &failingWrites{find: func(ctx context.Context, now observe.Snapshot) ([]trace.FailingWrite, error) {
		return trace.FindFailingWrites(ctx, p.observer, now)
	}}
	p.observer = observe.New(observe.Options{
		Records: max(p.config.Observe.Records, 0),
		Queues:  queues.All(),
		MoreQueues: func() []observe.Queue {
			return slices.Concat(p.schedulerQueues(), p.reportedQueues(), p.outsideQueues())
		},
		Workers: func(controller, queue string) int {
			if !p.ready.Load() {
				return 0
			}
			return p.supervisor.WorkerCount(controller, queue)
		},
		Held: p.countHeldWrites,
		Unlisted: func(controller string) string {
			if !p.ready.Load() {
				return ""
			}
			return p.supervisor.Unlisted(controller)
		},
		Timers: func() []observe.Timer {
			if !p.ready.Load() {
				return nil
			}
			return p.nodes.kubeletTimers()
		},
		Problems: func(now observe.Snapshot) []observe.Problem {
			if !p.ready.Load() {
				return nil
			}
			return slices.Concat(problems.count(now.Time), p.countFailingWrites(failing, now))
		},
		HasWebhook: func(name string) bool { return !p.ready.Load() || p.api.HasWebhook(name) },
		Clients: func() []observe.Client {
			if !p.ready.Load() {
				return nil
			}
			return p.clients.Snapshot()
		},
		Process: func() observe.Process {
			if p.ready.Load() {
				follow()
			}
			return p.processStatus(meter)
		},
		VersionsUnknown: !p.usesEmbeddedEtcd(), // see observeWrites
	})
	p.onClose(p.observer.Close)
}

// countFailingWrites returns the problem that writes of clients fail again and again, or nothing.
func (p *controlPlane) countFailingWrites(failing *failingWrites, now observe.Snapshot) []observe.Problem {
	list, err := failing.count(now)
	if err != nil {
		p.log.Debug("cannot count the writes that fail", "err", err)
	}
	return list
}

// countHeldWrites returns the number of writes that a paused controller holds.
func (p *controlPlane) countHeldWrites(controller string) int {
	if !p.ready.Load() {
		return 0
	}
	list, err := p.interventions().HeldWrites(context.Background(), controller, 0)
	if err != nil {
		p.log.Debug("cannot count the held writes", "controller", controller, "err", err)
	}
	return list.Total
}

// recorderFor returns the recorder of what a controller does; nil if observation is off.
func (p *controlPlane) recorderFor(name string) *observe.Recorder {
	if p.config.Observe.Records < 0 {
		return nil
	}
	return p.observer.Recorder(name)
}

// newClients returns the programs outside of the process, none yet.
func (p *controlPlane) newClients() (*clients.Clients, error) {
	objects, err := intervene.NewObjectReader(p.readerConfig())
	if err != nil {
		return nil, err
	}
	cfg := clients.Config{OwnPath: controlrest.Path, ReportsPath: controlrest.ReportsPath, Objects: objects}
	cfg.Revision = p.storeRevision
	cfg.IsAggregated = func(path string) bool { return p.ready.Load() && p.api.IsAggregated(path) }
	cfg.CheckResource = func(resource string) error {
		if !p.ready.Load() {
			return nil
		}
		return p.supervisor.CheckResource(resource)
	}
	if p.config.Observe.Records >= 0 {
		cfg.Observer = p.observer
	}
	return clients.New(cfg), nil
}

// storeRevisionTimeout bounds the read of the last version in an etcd cluster, for which a watch waits.
const storeRevisionTimeout = time.Second

// storeRevision returns the last version in the storage; 0 = it is not known.
func (p *controlPlane) storeRevision() int64 {
	ctx, cancel := context.WithTimeout(context.Background(), storeRevisionTimeout)
	defer cancel()
	revision, err := p.etcd.server.Revision(ctx, p.etcdPrefix())
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
	return revision
}

// reportedQueues returns the queues of controllers that clients report.
func (p *controlPlane) reportedQueues() []observe.Queue {
	if !p.ready.Load() {
		return nil
	}
	return p.clients.Queues()
}

// observeWrites reports each write in an embedded etcd to the observer, which then
// knows which informers have not received it yet.
func (p *controlPlane) observeWrites() {
	prefix := p.etcdPrefix()
	err := p.etcd.server.ObserveWrites(func(key []byte, revision int64, deleted bool) {
		stored, _ := storekeys.ParseBelow(prefix, string(key))
		resource := stored.Resource()
		switch {
		case resource == "" || unobservedResources[resource]:
			return
		case deleted && resource == crdResource:
			p.observer.ForgetResource(stored.Name()) // a CustomResourceDefinition is named RESOURCE.GROUP
		}
		p.observer.NoteVersion(resource, revision)
	})
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
}

const crdResource = "customresourcedefinitions.apiextensions.k8s.io"

// unobservedResources are written all the time, and no controller reacts to that.
var unobservedResources = map[string]bool{"events": true, "leases.coordination.k8s.io": true}

// processStatus returns what is known of the control plane as a whole.
func (p *controlPlane) processStatus(meter *procstat.Meter) observe.Process {
	v := observe.Process{
		Name:       p.config.Name,
		Version:    Version(),
		Kubernetes: p.describeKubernetes(),
		Ephemeral:  p.config.Dir == "",
		PID:        os.Getpid(),
		State:      observe.Starting,
		Started:    p.began,
	}
	usage, err := meter.Measure()
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
	v.MemoryBytes, v.CPU = usage.Memory, usage.CPU
	closing := false
	select {
	case <-p.closing:
		closing, v.State = true, observe.Stopping
	default:
	}
	if !p.ready.Load() { // the fields below are not final
		return v
	}
	v.UnreadMetrics = p.unreadMetrics()
	v.Speed = p.currentSpeed()
	if s := p.startState.Load(); s != nil {
		v.Restoring = s.IsRestoring()
	}
	v.Leader, v.LeaseHolder = p.leader()
	v.TakingOver = p.leadership.isTakingOver()
	v.URL, v.DataDir, v.Requests = p.url, p.dir.Path(), p.api.RequestCount()
	if !closing {
		v.State = observe.Ready
		v.EtcdRevision, v.EtcdBytes = p.etcd.server.Size()
	}
	return v
}
