package trace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// scenarios are journals of a real control plane. NAME.edges has the true causes, which
// were verified manually against the upstream code.
var scenarios = []string{
	"rollout", "scale", "cascade", "threekinds", "foreground", "adoption", "namespace", "quota", "conflict", "node",
}

func TestFindsTrueCauses(t *testing.T) {
	total, right := 0, 0
	for _, name := range scenarios {
		found := causesOfWrites(newGraph(loadJournal(t, name), observe.Object{}, false))
		data, err := os.ReadFile(filepath.Join("testdata", name+".edges"))
		if err != nil {
			t.Fatal(err)
		}
		of, ok := 0, 0
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			effect, cause, _ := strings.Cut(line, " <- ")
			of++
			if found[effect] == cause {
				ok++
				continue
			}
			t.Logf("%s: %s follows from %q, found %q", name, effect, cause, found[effect])
			if found[effect] != "nothing" { // a missing cause is allowed, a wrong one is not
				t.Errorf("%s: a wrong cause of %s", name, effect)
			}
		}
		if of != len(found) {
			t.Errorf("%s: %d writes, %d of them expected", name, len(found), of)
		}
		total, right = total+of, right+ok
		// The node controllers have timers of their own that cannot be attributed.
		if name != "node" && ok*100 < of*95 {
			t.Errorf("%s: %d of %d causes found", name, ok, of)
		}
	}
	t.Logf("%d of %d causes found", right, total)
	if right*100 < total*95 {
		t.Errorf("%d of %d causes found, want 95 %%", right, total)
	}
}

// rawJournal has the records behind the nodes of a graph.
type rawJournal struct {
	called    map[string]*observe.Called // by node
	delivered map[string]*observe.Delivered
	synced    map[string]*observe.Synced
	at        map[string]observe.Record
	all       []observe.Record
}

func TestExactLinksAreCorrect(t *testing.T) {
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			records := loadJournal(t, name)
			r := rawJournal{map[string]*observe.Called{}, map[string]*observe.Delivered{}, map[string]*observe.Synced{}, map[string]observe.Record{}, records}
			g := newGraph(records, observe.Object{}, true)
			for _, n := range g.nodes {
				r.add(n, records)
			}
			count := map[Rule]map[Certainty]int{}
			for _, n := range g.nodes {
				if n.Cause == nil {
					continue
				}
				if count[n.Cause.Rule] == nil {
					count[n.Cause.Rule] = map[Certainty]int{}
				}
				count[n.Cause.Rule][n.Cause.Certainty]++
				if n.Cause.Certainty == Exact {
					r.checkExact(t, n)
				}
			}
			t.Log(count)
		})
	}
}

// add finds the record of a node.
func (r *rawJournal) add(n *Node, records []observe.Record) {
	for _, rec := range records {
		if rec.Seq != n.seq {
			continue
		}
		r.at[n.ID] = rec
		switch e := rec.Event.(type) {
		case *observe.Called:
			r.called[n.ID] = e
		case *observe.Delivered:
			r.delivered[n.ID] = e
		case *observe.Synced:
			r.synced[n.ID] = e
		}
	}
}

// checkExact verifies an exact link with the records alone.
func (r *rawJournal) checkExact(t *testing.T, n *Node) {
	t.Helper()
	cause, rule := n.Cause.ID, n.Cause.Rule
	switch rule {
	case ByCall:
		if c, s := r.called[n.ID], r.synced[cause]; s == nil || c.Sync != s.ID || c.Controller != s.Controller && c.Controller != "shared-informers" {
			t.Errorf("%s: call %+v is not of sync %+v", n.ID, c, s)
		}
	case ByAdd:
		r.checkAdd(t, n)
	case ByVersion, ByDeletion:
		d := r.delivered[n.ID]
		if strings.HasPrefix(cause, "o") { // no recorded call may have made it
			r.checkOutside(t, n, d)
			return
		}
		c := r.called[cause]
		if c.Failed() || !c.IsWrite() || canonicalObject(c.Object).Name != d.Object.Name || c.Object.Resource != d.Object.Resource {
			t.Errorf("%s: call %+v cannot have made %+v", n.ID, c, d)
		}
		if began := r.at[cause].Time.Add(-c.Took); r.at[n.ID].Time.Before(began) {
			t.Errorf("%s was delivered before call %s began", n.ID, cause)
		}
		if rule == ByVersion && c.ResourceVersion != d.ResourceVersion {
			t.Errorf("%s: call of version %s, event of version %s", n.ID, c.ResourceVersion, d.ResourceVersion)
		}
		if rule == ByDeletion && (c.Verb != "delete" || d.Change != observe.Deleted) {
			t.Errorf("%s: %s is linked as the cause of %s", n.ID, c.Verb, d.Change)
		}
	default:
		t.Errorf("%s: rule %s is never exact", n.ID, rule)
	}
}

// checkAdd checks that only one event matches the time of the add, and that the queue or
// the log of the sync confirms it.
func (r *rawJournal) checkAdd(t *testing.T, n *Node) {
	t.Helper()
	s, end := r.synced[n.ID], r.at[n.ID].Time
	added := end.Add(-s.Took - s.Waited)
	var candidates []uint64
	for _, rec := range r.all {
		d, ok := rec.Event.(*observe.Delivered)
		if !ok || d.Controller != s.Controller || !strings.Contains(" "+strings.Join(d.Queues, " ")+" ", " "+s.Queue+" ") {
			continue
		}
		if !added.Before(rec.Time.Add(-d.Took)) && !added.After(rec.Time.Add(50*time.Microsecond)) {
			candidates = append(candidates, rec.Seq)
		}
	}
	event := r.delivered[n.Cause.ID].Object
	agreed := s.Cause == r.at[n.Cause.ID].Seq || s.KeyBasis == observe.BasisLog && s.Key == event.Key()
	if len(candidates) != 1 || candidates[0] != r.at[n.Cause.ID].Seq || !agreed {
		t.Errorf("%s: added at %s, which matches events %v; the queue reports %d, the trace %s", n.ID, added, candidates, s.Cause, n.Cause.ID)
	}
}

// checkOutside checks that no recorded write made the version.
func (r *rawJournal) checkOutside(t *testing.T, n *Node, d *observe.Delivered) {
	t.Helper()
	for _, rec := range r.all {
		c, ok := rec.Event.(*observe.Called)
		if !ok || !c.IsWrite() || c.Failed() || c.ResourceVersion != d.ResourceVersion || c.Object.Name != d.Object.Name || d.Change == observe.Deleted {
			continue
		}
		if c.Verb == "create" || rec.Time.Before(r.at[n.ID].Time) {
			t.Errorf("%s is an outside write, but record %d made version %s", n.ID, rec.Seq, d.ResourceVersion)
		}
	}
}
