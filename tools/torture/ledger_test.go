//go:build linux

package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// The ledger finds every kind of loss, and accepts both outcomes of a write in doubt.
func TestLedgerFindsLosses(t *testing.T) {
	for _, test := range []struct {
		name   string
		stored state // next to w0-2, which is as acknowledged
		doubt  *write
		want   string
	}{
		{"all there", state{"w0-1": "a"}, nil, ""},
		{"lost", state{}, nil, `w0-1: "a" was acknowledged, "" is stored`},
		{"older", state{"w0-1": "before"}, nil, `w0-1: "a" was acknowledged, "before" is stored`},
		{"deleted, and back", state{"w0-1": "a", "w0-9": "x"}, nil, `w0-9: its deletion was acknowledged, "x" is stored`},
		{"another writer's", state{"w0-1": "a", "w1-9": "x"}, nil, ""},
		{"doubtful change, not made", state{"w0-1": "a"}, &write{"w0-1", "b"}, ""},
		{"doubtful change, made", state{"w0-1": "b"}, &write{"w0-1", "b"}, ""},
		{"doubtful change, something else", state{"w0-1": "c"}, &write{"w0-1", "b"}, `"c" is stored`},
		{"doubtful deletion, made", state{}, &write{name: "w0-1"}, ""},
		{"doubtful creation, made", state{"w0-1": "a", "w0-3": "made"}, &write{"w0-3", "made"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := fake.NewClientset()
			test.stored["w0-2"] = "kept"
			for name, value := range test.stored {
				if _, err := configMaps(client).Create(t.Context(), newObject(write{name, value}), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w := &writer{name: "w0", acknowledged: map[string]string{"w0-1": "a", "w0-2": "kept"}, doubt: test.doubt}
			err := (&ledger{writers: []*writer{w}}).check(t.Context(), client)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err == nil && w.doubt != nil {
				t.Error("the write is still in doubt")
			}
		})
	}
}

// What a writer notes is what is stored.
func TestWriterNotesAnswers(t *testing.T) {
	client := fake.NewClientset()
	w := &writer{name: "w0", rand: rand.New(rand.NewPCG(1, 2)), acknowledged: map[string]string{}}
	for range 200 {
		if err := w.send(t.Context(), client, w.choose()); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := readState(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if n := stored.differences(w.acknowledged); n != 0 || len(stored) == 0 || w.made == len(stored) {
		t.Errorf("%d of %d objects differ, %d were made", n, len(stored), w.made)
	}
}

func TestStateDifferences(t *testing.T) {
	a := state{"same": "1", "changed": "1", "gone": "1"}
	if n := a.differences(state{"same": "1", "changed": "2", "new": "1"}); n != 3 {
		t.Errorf("got %d, want 3", n)
	}
}

// A write whose client has given up may land later than a read that did not find it.
func TestAbandonedWriteMayLandLate(t *testing.T) {
	w := &writer{name: "w0", acknowledged: map[string]string{"w0-1": "made"}, doubt: &write{"w0-1", "changed"}}
	w.abandonDoubt()
	l := &ledger{writers: []*writer{w}}
	for _, stored := range []string{"made", "changed"} {
		client := fake.NewClientset()
		if _, err := configMaps(client).Create(t.Context(), newObject(write{"w0-1", stored}), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := l.check(t.Context(), client); err != nil {
			t.Errorf("%s: %v", stored, err)
		}
	}
}
