package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// scenarios are journals of a real control plane. NAME.edges has the true causes, which were verified manually against
// the upstream code: the news that queued a key, or that arrived while it waited for a timer or for its controller's own write.
var scenarios = []string{
	"rollout", "scale", "cascade", "threekinds", "foreground", "adoption", "namespace", "quota", "conflict", "node",
	"statefulset", "job", "hpa", "pvc", "unschedulable", "writers", "collection",
	"operator", "client", "dispute", "replacement",
}

func TestFindsTrueCauses(t *testing.T) {
	total, right := 0, 0
	for _, name := range scenarios {
		g := newGraph(loadJournal(t, name), observe.Object{}, Options{})
		found := causesOfWrites(g)
		edges := filepath.Join("testdata", name+".edges")
		data, err := os.ReadFile(edges)
		if errors.Is(err, fs.ErrNotExist) && testutil.Update() {
			data, err = draftEdges(g), nil
			testutil.WriteFile(t, edges, string(data))
		}
		if err != nil {
			t.Fatal(err)
		}
		of, ok, unknown := 0, 0, 0
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			effect, cause, _ := strings.Cut(line, " <- ")
			if cause == "?" { // nothing that is recorded says what it is
				unknown++
				continue
			}
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
		if of+unknown != len(found) {
			t.Errorf("%s: %d writes, %d of them expected", name, len(found), of+unknown)
		}
		total, right = total+of, right+ok
		if ok*100 < of*98 {
			t.Errorf("%s: %d of %d causes found", name, ok, of)
		}
	}
	t.Logf("%d of %d causes found", right, total)
	if right*100 < total*98 {
		t.Errorf("%d of %d causes found, want 98 %%", right, total)
	}
}

// draftEdges returns the causes that are found, for a person to correct.
func draftEdges(g *graph) []byte {
	var b bytes.Buffer
	found := causesOfWrites(g)
	for _, n := range g.calls {
		if n.isWrite() {
			fmt.Fprintf(&b, "%s <- %s\n", labelOf(n), found[labelOf(n)])
		}
	}
	return b.Bytes()
}

// Objects of an aggregated API server have no reports of the storage: what wrote each version follows from what the API
// server answered and when. No certain cause is wrong then either.
func TestFindsTrueCausesWithoutTheStorage(t *testing.T) {
	total, right := 0, 0
	for _, name := range scenarios[:10] {
		records := loadJournal(t, name)
		for _, r := range records {
			if c, ok := r.Event.(*observe.Called); ok {
				c.Wrote = nil
			}
		}
		causes := trueCauses(t, name)
		for _, n := range newGraph(records, observe.Object{}, Options{}).calls {
			want := causes[n.ID]
			if want == "" || want == "nothing" {
				continue
			}
			p, certain := n.causedBy, n.Cause != nil && n.Cause.Certainty == Certain
			for p != nil && p.Kind != Call && p.Kind != Outside {
				certain = certain && p.Cause != nil && p.Cause.Certainty == Certain
				p = p.causedBy
			}
			total++
			switch {
			case p != nil && p.ID == want:
				right++
			case p != nil && certain:
				t.Errorf("%s: a certain cause of %s is %s, want %s", name, labelOf(n), labelOf(p), want)
			default:
				t.Logf("%s: %s: want %s", name, labelOf(n), want)
			}
		}
	}
	t.Logf("%d of %d causes found", right, total)
	if right*100 < total*98 {
		t.Errorf("%d of %d causes found, want 98 %%", right, total)
	}
}

// trueCauses returns the IDs of the causes of a scenario by those of the writes.
func trueCauses(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".edges"))
	if err != nil {
		t.Fatal(err)
	}
	causes := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		effect, cause, _ := strings.Cut(line, " <- ")
		id, _, _ := strings.Cut(effect, " ")
		causes[id], _, _ = strings.Cut(cause, " ")
	}
	return causes
}

// Each write of an operator that reports its syncs belongs to one, and what queued the key
// of that one is certain, unless the operator's own write did: then it is the newest event.
func TestReportedCausesAreCertain(t *testing.T) {
	for _, name := range []string{"operator", "dispute"} {
		writes := 0
		for _, n := range newGraph(loadJournal(t, name), observe.Object{}, Options{}).calls {
			if n.Controller != "operator/site" {
				continue
			}
			writes++
			s := n.causedBy
			if s == nil || s.Kind != Sync || s.Open || n.Cause.Certainty != Certain || n.Cause.Rule != ByCall || s.KeyBasis != observe.BasisQueue {
				t.Errorf("%s: %s is of %+v", name, labelOf(n), s)
				continue
			}
			if s.Cause == nil || s.Cause.Certainty != Certain && s.Cause.Rule != ByMerge {
				t.Errorf("%s: %s is of sync %s, whose cause is %+v", name, labelOf(n), s.ID, s.Cause)
			}
		}
		if writes < 10 {
			t.Errorf("%s: only %d writes", name, writes)
		}
	}
}

// An operator that is not sure of what has queued its keys has the same causes, and only likely ones.
func TestUnsureReportsHaveLikelyCauses(t *testing.T) {
	for _, name := range []string{"operator", "dispute"} {
		records, syncs := loadJournal(t, name), 0
		for _, r := range records {
			if s, ok := r.Event.(*observe.Synced); ok && s.Controller == "operator/site" {
				s.Sure = false
			}
		}
		g := newGraph(records, observe.Object{}, Options{})
		for _, s := range g.syncs {
			if s.Controller != "operator/site" {
				continue
			}
			if syncs++; s.Cause == nil || s.Cause.Certainty != Likely {
				t.Errorf("%s: sync %s has the cause %+v, want a likely one", name, s.ID, s.Cause)
			}
		}
		if syncs < 15 {
			t.Errorf("%s: only %d syncs", name, syncs)
		}
		checkCauses(t, name, g)
	}
}

// checkCauses checks the causes of the writes of a scenario.
func checkCauses(t *testing.T, name string, g *graph) {
	t.Helper()
	found := map[string]string{}
	for effect, cause := range causesOfWrites(g) {
		id, _, _ := strings.Cut(effect, " ")
		found[id], _, _ = strings.Cut(cause, " ")
	}
	for id, cause := range trueCauses(t, name) {
		if cause != "?" && found[id] != cause {
			t.Errorf("%s: %s follows from %s, found %s", name, id, cause, found[id])
		}
	}
}

// For each Pod that was created, Why reaches the request of the user, from its creation
// as well as from its last change. The other journals lack the scheduler and the kubelet.
func TestWhyReachesTheUser(t *testing.T) {
	pods := 0
	for _, name := range []string{"statefulset", "job", "hpa", "pvc", "unschedulable", "writers", "collection", "operator", "client", "dispute"} {
		records := loadJournal(t, name)
		for i := range records {
			c, ok := records[i].Event.(*observe.Called)
			created := ok && c.Verb == "create" && c.Object.Resource == "pods" && c.Subresource == "" && !c.Failed()
			d, delivered := records[i].Event.(*observe.Delivered)
			var about observe.Object
			switch {
			case created:
				about = c.Object
			case delivered && d.Change == observe.Added && d.Object.Resource == "pods" && d.Controller == "replicaset-controller":
				about = d.Object
			default:
				continue
			}
			pods++
			for _, what := range []What{Created, Changed} {
				chain, err := Why(records, about, Options{What: what})
				if err != nil {
					if what == Created || !strings.Contains(err.Error(), "no record that it was changed") {
						t.Error(err)
					}
					continue
				}
				if first := chain.Links[len(chain.Links)-1]; !chain.Complete || !first.isOutside() {
					t.Errorf("%s: %s was %s because of %s, which is no request of a user", name, about, what, first.ID)
				}
			}
		}
	}
	t.Logf("%d Pods", pods)
	if pods < 15 {
		t.Errorf("only %d Pods were created", pods)
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
			g := newGraph(records, observe.Object{}, Options{All: true})
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
				if n.Cause.Certainty == Certain {
					r.checkCertain(t, n)
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

// checkCertain verifies a certain link with the records alone.
func (r *rawJournal) checkCertain(t *testing.T, n *Node) {
	t.Helper()
	cause, rule := n.Cause.ID, n.Cause.Rule
	switch rule {
	case ByCall:
		if c, s := r.called[n.ID], r.synced[cause]; s == nil || c.Sync != s.ID || c.Controller != s.Controller && c.Controller != "shared-informers" {
			t.Errorf("%s: call %+v is not of sync %+v", n.ID, c, s)
		}
	case ByAdd:
		r.checkAdd(t, n)
	case ByStorage:
		c, d := r.called[cause], r.delivered[n.ID]
		if !slices.ContainsFunc(c.Wrote, func(w observe.Written) bool {
			return w.Name == d.Object.Name && w.Namespace == d.Object.Namespace && w.ResourceVersion == d.ResourceVersion
		}) {
			t.Errorf("%s: the storage does not report that %s made version %s of %s", n.ID, cause, d.ResourceVersion, d.Object)
		}
	case BySync, ByRetry, ByDelay:
		r.checkQueued(t, n)
	case ByVersion, ByDeletion:
		d := r.delivered[n.ID]
		if strings.HasPrefix(cause, "o") { // no recorded call may have made it
			r.checkOutside(t, n, d)
			return
		}
		c := r.called[cause]
		if c.Failed() || !c.IsWrite() || c.Object.Name != d.Object.Name || c.Object.Resource != d.Object.Resource {
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
		t.Errorf("%s: rule %s is never certain", n.ID, rule)
	}
}

// checkAdd checks that the queue reports the event or that the event names the add.
func (r *rawJournal) checkAdd(t *testing.T, n *Node) {
	t.Helper()
	s, d := r.synced[n.ID], r.delivered[n.Cause.ID]
	if i := slices.Index(d.Adds, s.Add); s.Add == 0 || s.Cause != r.at[n.Cause.ID].Seq && (i < 0 || d.Queues[i] != s.Queue) && s.LastAdd == 0 {
		t.Errorf("%s: add %d is not among those of %s: %v", n.ID, s.Add, n.Cause.ID, d.Adds)
	}
}

// checkQueued checks that a sync or a delay has queued the key.
func (r *rawJournal) checkQueued(t *testing.T, n *Node) {
	t.Helper()
	s := r.synced[n.ID]
	if p := r.synced[n.Cause.ID]; p != nil && s.CauseSync == p.ID && p.ID != 0 {
		return
	}
	added := r.at[n.ID].Time.Add(-s.Took - s.Waited)
	due := []observe.DelayedKey{}
	if p := r.synced[n.Cause.ID]; p != nil && p.Key == s.Key && p.KeyBasis.Certain() && s.KeyBasis.Certain() {
		due = append(due, observe.DelayedKey{Queue: p.Queue, Due: p.Due})
	}
	if d := r.delivered[n.Cause.ID]; d != nil && d.Object.Key() == s.Key {
		due = d.Later
	}
	if !s.Timed || !slices.ContainsFunc(due, func(k observe.DelayedKey) bool {
		return k.Queue == s.Queue && isWithin(added, k.Due.Add(-clockGap), k.Due.Add(maxTimerDelay))
	}) {
		t.Errorf("%s: nothing shows that %s has queued its key: %+v", n.ID, n.Cause.ID, s)
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
