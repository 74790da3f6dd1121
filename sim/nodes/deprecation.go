package nodes

import (
	"log/slog"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// deprecationLog warns of annotations with deprecated names: once for each name,
// because thousands of Pods may come from one template.
type deprecationLog struct {
	log *slog.Logger

	mu     sync.Mutex
	warned map[string]bool // by annotation
}

func newDeprecationLog(log *slog.Logger) *deprecationLog {
	return &deprecationLog{log: log, warned: map[string]bool{}}
}

// warnOnce warns of the annotations of an object of that kind.
func (d *deprecationLog) warnOnce(kind string, meta *metav1.ObjectMeta) {
	for _, name := range annotations.DeprecatedIn(meta.Annotations) {
		d.mu.Lock()
		warned := d.warned[name]
		d.warned[name] = true
		d.mu.Unlock()
		if !warned {
			d.log.Warn("deprecated annotation: it still works, but use its new name", "annotation", annotations.Deprecated(name),
				"use", name, "kind", kind, "namespace", meta.Namespace, "name", meta.Name)
		}
	}
}
