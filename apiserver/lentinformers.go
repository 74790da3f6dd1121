package apiserver

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// LentInformers are informers that the API server runs for itself and for other parts of
// the process, so that the most frequent objects are watched, decoded and kept once. Their
// objects have no managed fields.
type LentInformers struct {
	Pods, Nodes cache.SharedIndexInformer
}

// InformerLoan hands LentInformers over to parts of the process that start at the same
// time as the API server.
type InformerLoan struct {
	once  sync.Once
	ended chan struct{}
	lent  LentInformers // final when ended is closed
}

// NewInformerLoan returns the loan of one API server.
func NewInformerLoan() *InformerLoan { return &InformerLoan{ended: make(chan struct{})} }

// Wait returns when the API server has lent its informers, or Close was called before: the
// fields of the result are nil then.
func (l *InformerLoan) Wait() LentInformers {
	<-l.ended
	return l.lent
}

// Close says that no informers will be lent, unless they have been.
func (l *InformerLoan) Close() { l.end(LentInformers{}) }

func (l *InformerLoan) end(lent LentInformers) {
	l.once.Do(func() {
		l.lent = lent
		close(l.ended)
	})
}

// lend hands over the informers of a factory that has not been started.
func (l *InformerLoan) lend(factory informers.SharedInformerFactory) error {
	lent := LentInformers{factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()}
	for _, informer := range []cache.SharedIndexInformer{lent.Pods, lent.Nodes} {
		if err := informer.SetTransform(dropManagedFields); err != nil {
			return err
		}
	}
	l.end(lent)
	return nil
}

func dropManagedFields(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
