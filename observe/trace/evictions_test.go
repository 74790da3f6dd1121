package trace

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// evictionStory records what happens to a Pod and to its node, as taint-eviction-controller receives it.
type evictionStory struct {
	records []observe.Record
	version int
}

func (s *evictionStory) add(e observe.Event) {
	s.records = appendLater(s.records, 10*time.Millisecond, e)
}

func (s *evictionStory) written(o observe.Object) (string, []observe.Written) {
	s.version++
	v := strconv.Itoa(s.version)
	return v, []observe.Written{{Resource: o.Resource, Namespace: o.Namespace, Name: o.Name, ResourceVersion: v}}
}

// taint makes a client give the node its taints that evict.
func (s *evictionStory) taint(client string, taints ...string) {
	node := observe.Object{Resource: "nodes", Kind: "Node", Name: "n1"}
	v, wrote := s.written(node)
	s.add(&observe.Called{Controller: client, Client: &observe.Caller{}, Verb: "patch", Object: node, Status: 200, ResourceVersion: v, Wrote: wrote})
	s.add(&observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: node, ResourceVersion: v,
		Queues: []string{noExecute}, Adds: []uint64{uint64(s.version)}, NoExecute: &observe.NoExecute{Taints: taints}})
}

// create makes a client create a Pod, which the scheduler binds.
func (s *evictionStory) create(tolerations ...observe.Toleration) {
	web := pod("web")
	v, wrote := s.written(web)
	s.add(&observe.Called{Controller: "kubectl (admin)", Client: &observe.Caller{}, Verb: "create", Object: web, Status: 201, ResourceVersion: v, Wrote: wrote})
	added := &observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Added, Object: web, ResourceVersion: v}
	if tolerations != nil {
		added.NoExecute = &observe.NoExecute{Tolerations: tolerations}
	}
	s.add(added)
	v, wrote = s.written(web)
	s.add(&observe.Called{Controller: "kube-scheduler", Verb: "create", Subresource: "binding", Object: web, Status: 201, BoundTo: "n1", Wrote: wrote})
	s.add(&observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: web, ResourceVersion: v})
}

// tolerate makes a client change the tolerations of the Pod.
func (s *evictionStory) tolerate(client string, tolerations ...observe.Toleration) {
	web := pod("web")
	v, wrote := s.written(web)
	s.add(&observe.Called{Controller: client, Client: &observe.Caller{}, Verb: "patch", Object: web, Status: 200, ResourceVersion: v, Wrote: wrote})
	s.add(&observe.Delivered{Controller: controllernames.TaintEviction, Change: observe.Updated, Object: web, ResourceVersion: v, NoExecute: &observe.NoExecute{Tolerations: tolerations}})
}

// evict makes the controller delete the Pod, and returns what why says about it.
func (s *evictionStory) evict(t *testing.T, after time.Duration) string {
	t.Helper()
	_, wrote := s.written(pod("web"))
	wrote[0].Deleted = true
	s.records = appendLater(s.records, after, &observe.Called{Controller: controllernames.TaintEviction, Verb: "delete", Object: pod("web"), Status: 200, Wrote: wrote})
	chain, err := Why(s.records, pod("web"), Options{What: Deleted})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " ")
	if named := strings.Contains(text, "because of taint"); named != (len(chain.Links[0].Taints) > 0) {
		t.Errorf("the taints are %q:\n%s", chain.Links[0].Taints, text)
	}
	return text
}

// A Pod is evicted because of the taints of its node that it does not tolerate, or not for longer.
func TestEvictionNamesTheTaint(t *testing.T) {
	exists := func(key string, seconds ...int64) observe.Toleration {
		tol := observe.Toleration{Key: key, Operator: "Exists"}
		if len(seconds) > 0 {
			tol.Seconds = &seconds[0]
		}
		return tol
	}
	const maint, other = "maint=yes:NoExecute", "other:NoExecute"
	for name, tc := range map[string]struct {
		do     func(s *evictionStory)
		after  time.Duration
		want   []string
		refuse string
	}{
		"not tolerated": {
			do:    func(s *evictionStory) { s.create(); s.taint("alice", maint) },
			after: time.Millisecond,
			want: []string{"deleted Pod web likely because of taint maint=yes:NoExecute of Node n1.",
				"It began when alice patched Node n1"},
			refuse: "had set",
		},
		"tolerated for a time, then another one is set, which it tolerates": {
			do: func(s *evictionStory) {
				s.create(exists("maint", 2), exists("other"))
				s.taint("alice", maint)
				s.taint("bob", maint, other)
			},
			after: 2 * time.Second,
			want: []string{"likely because of taint maint=yes:NoExecute of Node n1, which it tolerated for 2.0 s.",
				"It began when alice patched Node n1"},
		},
		"long after it was due": {
			do:     func(s *evictionStory) { s.create(); s.taint("alice", maint) },
			after:  time.Hour,
			want:   []string{"deleted Pod web"},
			refuse: "because of taint",
		},
		"more taints than are kept": {
			do: func(s *evictionStory) {
				s.create()
				s.taint("alice", maint)
				s.records[len(s.records)-1].Event.(*observe.Delivered).NoExecute = &observe.NoExecute{TooMany: true}
			},
			after:  time.Millisecond,
			want:   []string{"deleted Pod web"},
			refuse: "because of taint",
		},
		"the shorter time of two": {
			do: func(s *evictionStory) {
				s.create(exists("maint", 60), exists("other", 2))
				s.taint("alice", maint, other)
			},
			after: 2 * time.Second,
			want:  []string{"because of taint other:NoExecute of Node n1, which it tolerated for 2.0 s."},
		},
		"two at once": {
			do:    func(s *evictionStory) { s.create([]observe.Toleration{}...); s.taint("alice", maint, other) },
			after: time.Millisecond,
			want:  []string{"because of taints maint=yes:NoExecute and other:NoExecute of Node n1."},
		},
		"another one that it does not tolerate is set meanwhile": {
			do: func(s *evictionStory) {
				s.create(exists("maint", 60))
				s.taint("alice", maint)
				s.taint("bob", maint, other)
			},
			after: time.Millisecond,
			want:  []string{"because of taint other:NoExecute of Node n1.", "It began when bob patched Node n1"},
		},
		"another one that it does not tolerate, either, is set at the same time": {
			do: func(s *evictionStory) {
				s.create()
				s.taint("alice", maint)
				s.taint("bob", maint, other)
			},
			after: time.Millisecond,
			want:  []string{"because of taint maint=yes:NoExecute of Node n1.", "It began when alice patched Node n1"},
		},
		"bound to a node that had it": {
			do:    func(s *evictionStory) { s.taint("alice", maint); s.create(exists("maint", 2)) },
			after: 2 * time.Second,
			want: []string{"of Node n1, which it tolerated for 2.0 s after it was bound.",
				"alice had set taint maint=yes:NoExecute at 12:00:00.010"},
		},
		"its tolerations are changed": {
			do: func(s *evictionStory) {
				s.create(exists("maint"))
				s.taint("alice", maint)
				s.tolerate("bob", exists("maint", 1))
			},
			after: time.Second,
			want: []string{"of Node n1, which it tolerated for 1.0 s after its tolerations had changed.",
				"It began when bob patched Pod web", "alice had set taint maint=yes:NoExecute at"},
		},
		"the taint that is taken away does not evict": {
			do: func(s *evictionStory) {
				s.create(exists("maint", 60), exists("other", 2))
				s.taint("alice", other)
				s.taint("alice")
				s.taint("bob", maint)
			},
			after: time.Minute,
			want:  []string{"because of taint maint=yes:NoExecute of Node n1, which it tolerated for 1 m 00 s.", "bob patched Node n1"},
		},
		"earlier than the records explain": {
			do:     func(s *evictionStory) { s.create(exists("maint", 60)); s.taint("alice", maint) },
			after:  time.Second,
			want:   []string{"likely because Node n1 was updated."},
			refuse: "because of taint",
		},
		"a comparison, which a feature gate enables": {
			do: func(s *evictionStory) {
				s.create(observe.Toleration{Key: "maint", Operator: "Gt", Value: "3"})
				s.taint("alice", "maint=4:NoExecute")
			},
			after:  time.Millisecond,
			want:   []string{"likely because Node n1 was updated."},
			refuse: "because of taint",
		},
		"the default ones": {
			do:    func(s *evictionStory) { s.create(); s.taint("alice", "node.kubernetes.io/unreachable:NoExecute") },
			after: 300 * time.Second,
			want:  []string{"of taint node.kubernetes.io/unreachable:NoExecute of Node n1, which it tolerated for 5 m 00 s."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &evictionStory{}
			tc.do(s)
			text := s.evict(t, tc.after)
			missing := slices.DeleteFunc(slices.Clone(tc.want), func(part string) bool { return strings.Contains(text, part) })
			if len(missing) > 0 || tc.refuse != "" && strings.Contains(text, tc.refuse) {
				t.Errorf("missing %q:\n%s", missing, text)
			}
		})
	}
}
