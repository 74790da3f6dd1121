package ctrlplane

import (
	"os"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/internal/self"
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
	began, meter := time.Now(), self.NewMeter()
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
		Process: func() observe.Process { return p.process(began, meter) },
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

// process is what is known of the control plane as a whole.
func (p *plane) process(began time.Time, meter *self.Meter) observe.Process {
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
