package observe

import (
	"testing"
	"time"
)

// A queue has no reader before a control plane starts and after it has stopped.
func TestDelayedKeysWithoutAReaderAreBounded(t *testing.T) {
	var l delayedKeys
	for range 3 * maxDelayedKeys {
		l.add(&delayedKey{due: time.Now().Add(time.Hour)})
	}
	kept := len(l.due)
	for p := l.unsorted.Load(); p != nil; p = p.next {
		kept++
	}
	if kept > 2*maxDelayedKeys {
		t.Errorf("%d keys are kept", kept)
	}
}

// The queue's timer adds keys in the order in which they are due. Where one may be of several keys, it
// is not known.
func TestKeyThatTheTimerAdds(t *testing.T) {
	type delay struct {
		key string
		due time.Duration
	}
	for _, tt := range []struct {
		name   string
		delays []delay
		at     []time.Duration // when the timer adds a key
		want   []string
	}{
		{"one", []delay{{"a", 1000}}, []time.Duration{1001}, []string{"a"}},
		{"none is due", []delay{{"a", 1000}}, []time.Duration{999}, []string{""}},
		{"at the same time", []delay{{"b", 1002}, {"a", 1000}}, []time.Duration{1003, 1003, 1003}, []string{"a", "b", ""}},
		{"one, late", []delay{{"a", 1000}, {"b", 2000}}, []time.Duration{1200, 2000}, []string{"a", "b"}},
		{"much too late", []delay{{"a", 1000}}, []time.Duration{1300}, []string{""}},
		{"two, late", []delay{{"a", 1000}, {"b", 1050}}, []time.Duration{1060, 1060}, []string{"", ""}},
		{"two of one key, late", []delay{{"a", 1000}, {"a", 1050}}, []time.Duration{1060}, []string{"a"}},
		{"delayed again", []delay{{"a", 1000}, {"a", 1010}, {"b", 1011}}, []time.Duration{1000, 1012}, []string{"a", "b"}},
		{"an unknown one", []delay{{"", 1000}, {"b", 1001}}, []time.Duration{1002, 1002}, []string{"", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l delayedKeys
			began := time.Now()
			at := func(ms time.Duration) time.Time { return began.Add(ms * time.Millisecond) }
			for _, d := range tt.delays {
				by := &syncRun{}
				by.setKey(d.key, BasisCall)
				l.add(newDelayedKey(at(d.due), by))
			}
			for i, ms := range tt.at {
				got := ""
				if k := l.takeDue(at(ms)); k != nil {
					got = k.key
				}
				if got != tt.want[i] {
					t.Errorf("%d ms: %q, want %q", ms, got, tt.want[i])
				}
			}
		})
	}
}

// What a sync has delayed for long keeps neither the sync nor its event.
func TestDelayedKeyReleasesItsSync(t *testing.T) {
	var l delayedKeys
	by := &syncRun{queue: &queue{}, add: &queueAdd{cause: &delivery{object: &Object{Name: "web"}}}}
	now := time.Now()
	p := newDelayedKey(now, by)
	l.add(p)
	p.release(by)
	if p.by.Load() != nil {
		t.Error("it keeps the sync")
	}
	if k := l.takeDue(now); k == nil || *k != (inferredKey{"web", BasisEvent}) {
		t.Errorf("its key is %+v", k)
	}
}
