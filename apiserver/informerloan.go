package apiserver

import (
	"sync"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// InformerLoan lends informers that the API server runs for itself to other parts of the
// process, which may start at the same time, so that the most frequent objects are
// watched, decoded and kept once.
type InformerLoan struct {
	once        sync.Once
	ended       chan struct{}
	pods, nodes cache.SharedIndexInformer // final when ended is closed
}

// NewInformerLoan returns the loan of one API server.
func NewInformerLoan() *InformerLoan { return &InformerLoan{ended: make(chan struct{})} }

// Wait returns the informers of Pods and of Nodes as soon as the API server has them; nil
// if Close was called before. Upstream removes the managed fields of their objects.
func (l *InformerLoan) Wait() (pods, nodes cache.SharedIndexInformer) {
	<-l.ended
	return l.pods, l.nodes
}

// Close says that nothing will be lent, unless it has been.
func (l *InformerLoan) Close() { l.end(nil, nil) }

func (l *InformerLoan) end(pods, nodes cache.SharedIndexInformer) {
	l.once.Do(func() {
		l.pods, l.nodes = pods, nodes
		close(l.ended)
	})
}

// lend lends informers of the API server's factory.
func (l *InformerLoan) lend(factory informers.SharedInformerFactory) {
	l.end(factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer())
}
