//go:build linux

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// ownLabel marks the objects of this program.
const ownLabel = "torture"

// ledger knows what writers were told about their writes.
type ledger struct {
	writers []*writer
}

// writer makes one write at a time, so that at most one is in doubt when it stops.
type writer struct {
	name         string
	rand         *rand.Rand
	acknowledged map[string]string // value of each object; a deleted one is absent
	doubt        *write            // sent, and not answered
	unknown      map[string]bool   // objects of which a write may land at any time
	made         int
	writes       atomic.Int64 // acknowledged ones
}

// write sets an object to a value, or deletes it if that is empty.
type write struct{ name, value string }

func (r *round) newLedger(writers int) *ledger {
	l := &ledger{}
	for i := range writers {
		l.writers = append(l.writers, &writer{
			name: fmt.Sprintf("w%d", i), rand: rand.New(rand.NewPCG(r.rand.Uint64(), 0)), acknowledged: map[string]string{},
		})
	}
	return l
}

func configMaps(client kubernetes.Interface) typedcorev1.ConfigMapInterface {
	return client.CoreV1().ConfigMaps("default")
}

// writeUntilRefused makes all writers write until each had a write that was not
// acknowledged, or stop is called, and returns stop, which waits for them.
func (l *ledger) writeUntilRefused(ctx context.Context, client kubernetes.Interface) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for _, w := range l.writers {
		group.Go(func() {
			for ctx.Err() == nil {
				if w.send(ctx, client, w.choose()) != nil {
					return
				}
			}
		})
	}
	return func() { cancel(); group.Wait() }
}

// choose returns a random next write.
func (w *writer) choose() write {
	if len(w.acknowledged) > 0 && w.rand.IntN(2) == 0 {
		names := slices.Sorted(maps.Keys(w.acknowledged))
		name := names[w.rand.IntN(len(names))]
		if w.rand.IntN(3) == 0 {
			return write{name: name}
		}
		return write{name, fmt.Sprint("changed-", w.rand.Uint32())}
	}
	w.made++
	return write{fmt.Sprintf("%s-%d", w.name, w.made), "made"}
}

// send makes a write and notes the answer. Any error leaves the write in doubt.
func (w *writer) send(ctx context.Context, client kubernetes.Interface, what write) (err error) {
	w.doubt = &what
	switch _, exists := w.acknowledged[what.name]; {
	case what.value == "":
		err = configMaps(client).Delete(ctx, what.name, metav1.DeleteOptions{})
	case exists:
		_, err = configMaps(client).Update(ctx, newObject(what), metav1.UpdateOptions{})
	default:
		_, err = configMaps(client).Create(ctx, newObject(what), metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	w.writes.Add(1)
	w.settle(what.value)
	return nil
}

// settle records the value that the object of the last write has.
func (w *writer) settle(value string) {
	if value == "" {
		delete(w.acknowledged, w.doubt.name)
	} else {
		w.acknowledged[w.doubt.name] = value
	}
	w.doubt = nil
}

// abandonDoubt gives up the object of a write that has not been answered: it may still be
// performed, however late.
func (w *writer) abandonDoubt() {
	if w.doubt == nil {
		return
	}
	if w.unknown == nil {
		w.unknown = map[string]bool{}
	}
	w.unknown[w.doubt.name] = true
	w.settle("")
}

func newObject(what write) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: what.name, Labels: map[string]string{ownLabel: "yes"}},
		Data:       map[string]string{"value": what.value},
	}
}

// check compares with what is stored: acknowledged writes must be there, those in doubt
// may be, and nothing else may.
func (l *ledger) check(ctx context.Context, client kubernetes.Interface) error {
	stored, err := readState(ctx, client)
	if err != nil {
		return err
	}
	for _, w := range l.writers {
		if w.doubt != nil {
			if found := stored[w.doubt.name]; found == w.doubt.value || found == w.acknowledged[w.doubt.name] {
				w.settle(found)
			}
		}
		for name, value := range w.acknowledged {
			if stored[name] != value {
				return fmt.Errorf("%s: %q was acknowledged, %q is stored", name, value, stored[name])
			}
		}
		for name, value := range stored {
			if _, known := w.acknowledged[name]; !known && !w.unknown[name] && strings.HasPrefix(name, w.name+"-") {
				return fmt.Errorf("%s: its deletion was acknowledged, %q is stored", name, value)
			}
		}
	}
	return nil
}

func (l *ledger) writes() (n int64) {
	for _, w := range l.writers {
		n += w.writes.Load()
	}
	return n
}

// state is the value of each object of this program.
type state map[string]string

func readState(ctx context.Context, client kubernetes.Interface) (state, error) {
	list, err := configMaps(client).List(ctx, metav1.ListOptions{LabelSelector: ownLabel})
	if err != nil {
		return nil, err
	}
	s := state{}
	for _, cm := range list.Items {
		s[cm.Name] = cm.Data["value"]
	}
	return s, nil
}

// differences returns how many objects differ.
func (s state) differences(other state) (n int) {
	for name := range s {
		if other[name] != s[name] {
			n++
		}
	}
	for name := range other {
		if _, both := s[name]; !both {
			n++
		}
	}
	return n
}

// change makes the control plane's state another one: of n objects some are missing, and
// the others have new values.
func (r *round) change(client kubernetes.Interface, n int) (state, error) {
	before, err := readState(r.ctx, client)
	if err != nil {
		return nil, err
	}
	w := &writer{acknowledged: before}
	for i := range n {
		what := write{name: fmt.Sprintf("o-%d", i), value: fmt.Sprint(r.rand.Uint32())}
		if _, exists := w.acknowledged[what.name]; r.rand.IntN(3) == 0 {
			if !exists {
				continue
			}
			what.value = ""
		}
		if err := w.send(r.ctx, client, what); err != nil {
			return nil, err
		}
	}
	return w.acknowledged, nil
}
