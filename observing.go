package ctrlplane

import (
	"os"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/observe"
)

// apiServerName is whom the API server's own work queues belong to.
const apiServerName = "kube-apiserver"

// Observer returns what is known of this control plane and what happened in it;
// nil before Start. It can be read after Close.
func (s *Server) Observer() *observe.Observer {
	if p := s.instance(); p != nil {
		return p.observer
	}
	return nil
}

// startObserver begins to take down what happens.
func (p *controlPlane) startObserver() {
	registerQueueMetrics()
	began, meter := time.Now(), procstat.NewMeter()
	follow := sync.OnceFunc(p.observeWrites)
	p.observer = observe.New(observe.Options{
		Records:    max(p.config.Records, 0),
		Queues:     queues.All(),
		MoreQueues: p.schedulerQueues,
		Workers: func(controller, queue string) int {
			if !p.ready.Load() {
				return 0
			}
			return p.supervisor.WorkerCount(controller, queue)
		},
		Timers: p.nodeTimers,
		Process: func() observe.Process {
			if p.ready.Load() {
				follow()
			}
			return p.processStatus(began, meter)
		},
	})
	p.onClose(p.observer.Close)
}

// recorder takes down what a controller does; nil if nobody is to.
func (p *controlPlane) recorder(name string) *observe.Recorder {
	if p.config.Records < 0 {
		return nil
	}
	return p.observer.Recorder(name)
}

// observeWrites tells the observer of each write to the store, if that is in this
// process: then it knows who has not been told yet.
func (p *controlPlane) observeWrites() {
	err := p.etcd.server.ObserveWrites(func(key []byte, revision int64, deleted bool) {
		stored, _ := storekeys.ParseBelow(storekeys.DefaultPrefix, string(key))
		resource := stored.Resource()
		switch {
		case resource == "" || unobservedResources[resource]:
			return
		case deleted && resource == crdResource:
			p.observer.ForgetResource(stored.Name()) // is RESOURCE.GROUP
		}
		p.observer.NoteVersion(resource, revision)
	})
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
}

const crdResource = "customresourcedefinitions.apiextensions.k8s.io"

// unobservedResources are resources that are written all the time; nothing follows from it.
var unobservedResources = map[string]bool{"events": true, "leases.coordination.k8s.io": true}

// nodeTimers are what the simulated kubelets will do next.
func (p *controlPlane) nodeTimers() []observe.Timer {
	f := p.nodes
	if !p.ready.Load() || !f.mu.TryLock() { // it is starting
		return nil
	}
	defer f.mu.Unlock()
	if f.running == nil {
		return nil
	}
	what, at := f.running.NextDue()
	if at.IsZero() {
		return nil
	}
	return []observe.Timer{{Controller: kubeletName, What: what, Due: at}}
}

// processStatus is what is known of the control plane as a whole.
func (p *controlPlane) processStatus(began time.Time, meter *procstat.Meter) observe.Process {
	v := observe.Process{
		Name:       p.config.Name,
		Version:    Version(),
		Kubernetes: KubernetesVersion,
		Ephemeral:  p.config.Dir == "",
		PID:        os.Getpid(),
		State:      observe.Starting,
		Started:    began,
	}
	usage, err := meter.Measure()
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
	v.MemoryBytes, v.CPU = usage.Memory, usage.CPU
	if !p.ready.Load() { // the parts are still being put together
		return v
	}
	v.State, v.URL, v.DataDir, v.Requests = observe.Ready, p.url, p.dir.Path(), p.api.RequestCount()
	select {
	case <-p.closing:
		v.State = observe.Stopping
	default:
		v.EtcdRevision, v.EtcdBytes = p.etcd.server.Size()
	}
	return v
}
