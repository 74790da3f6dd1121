package ctrlplane

import (
	"os"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/procstat"
	"github.com/ctrlplane/ctrlplane/observe"
)

// apiServerName is whom the API server's own work queues belong to.
const apiServerName = "kube-apiserver"

// Observer returns what is known of this control plane and what happened in it;
// nil before Start. It can be read after Close.
func (s *Server) Observer() *observe.Observer {
	if p := s.running(); p != nil {
		return p.observer
	}
	return nil
}

// startObserver begins to take down what happens.
func (p *plane) startObserver() {
	registerQueueMetrics()
	began, meter := time.Now(), procstat.NewMeter()
	follow := sync.OnceFunc(p.followWrites)
	p.observer = observe.New(observe.Options{
		Records: max(p.Server.Records, 0),
		Queues:  queues.All(),
		More:    p.schedulerQueues,
		Workers: func(controller, queue string) int {
			if !p.ready.Load() {
				return 0
			}
			return p.supervisor.Workers(controller, queue)
		},
		Timers: p.timers,
		Process: func() observe.Process {
			if p.ready.Load() {
				follow()
			}
			return p.process(began, meter)
		},
	})
	p.onEnd(p.observer.Close)
}

// recorder takes down what a controller does; nil if nobody is to.
func (p *plane) recorder(name string) *observe.Recorder {
	if p.Server.Records < 0 {
		return nil
	}
	return p.observer.Recorder(name)
}

// followWrites tells the observer of each write to the store, if that is in this
// process: then it knows who has not been told yet.
func (p *plane) followWrites() {
	err := p.storage.server.Writes(func(key []byte, revision int64, deleted bool) {
		resource, name := controllers.Stored(key)
		switch {
		case resource == "" || background[resource]:
			return
		case deleted && resource == crds:
			p.observer.Forget(name) // is RESOURCE.GROUP
		}
		p.observer.Wrote(resource, revision)
	})
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
}

const crds = "customresourcedefinitions.apiextensions.k8s.io"

// background are resources that are written all the time; nothing follows from it.
var background = map[string]bool{"events": true, "leases.coordination.k8s.io": true}

// timers are what the simulated kubelets will do next.
func (p *plane) timers() []observe.Timer {
	f := p.fleet
	if !p.ready.Load() || !f.mu.TryLock() { // it is starting
		return nil
	}
	defer f.mu.Unlock()
	if f.nodes == nil {
		return nil
	}
	what, at := f.nodes.Due()
	if at.IsZero() {
		return nil
	}
	return []observe.Timer{{Controller: kubeletName, What: what, Due: at}}
}

// process is what is known of the control plane as a whole.
func (p *plane) process(began time.Time, meter *procstat.Meter) observe.Process {
	v := observe.Process{
		Name:       p.Server.Name,
		Version:    Version(),
		Kubernetes: KubernetesVersion,
		Ephemeral:  p.Server.Dir == "",
		PID:        os.Getpid(),
		State:      observe.Starting,
		Started:    began,
	}
	usage, err := meter.Usage()
	if err != nil {
		p.log.Debug("observe", "err", err)
	}
	v.MemoryBytes, v.CPU = usage.Memory, usage.CPU
	if !p.ready.Load() { // the parts are still being put together
		return v
	}
	v.State, v.URL, v.DataDir, v.Requests = observe.Ready, p.url, p.dir.Path(), p.api.Requests()
	select {
	case <-p.ending:
		v.State = observe.Stopping
	default:
		v.EtcdRevision, v.EtcdBytes = p.storage.server.Size()
	}
	return v
}
