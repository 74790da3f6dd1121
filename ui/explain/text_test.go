package explain

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// samplePage has every field, and does not change when the real pages do.
var samplePage = Page{
	Name: "some-controller", Group: "workloads",
	Purpose: "Makes things out of other things. It stops when there are enough of them, which may take a while.",
	Queues:  map[string]string{"some": "namespace and name of a Thing", "": "something else"},
	Decides: []string{"Counts Things, and makes 1, 2, 4… at once × as long as that goes well, for it knows what can go wrong.", "Sleeps."},
	Here:    []string{"Nothing is made."},
	Fails:   []Failure{{`event NoThings: "nothing to make 3 Things of"`, "There is nothing. Get something."}},
	As:      []string{"some-controller"},
	Flags:   []string{"things"}, Settings: []string{"nodes", "pod-cidr"},
	Source:  []string{"k8s.io/kubernetes/pkg/some/some.go", "k8s.io/kubernetes/pkg/some/other.go", "github.com/ctrlplane/ctrlplane/some.go"},
	Drawing: "┌──────┐\n│ Some ├──▶ thing\n└──────┘\n",
}

var runningFacts = Facts{
	Snapshot: &observe.Snapshot{
		Controllers: []observe.Controller{
			{Name: "other-controller", State: "failed"},
			{Name: "some-controller", State: "paused", Reason: "its writes are held", Watches: []string{"pods", "things.example.com"},
				Writes: []observe.WriteCount{{Verb: "create", Resource: "things.example.com", Count: 1200}, {Verb: "update", Resource: "pods/status", Count: 1}}},
		},
		Queues: []observe.Queue{
			{Controller: "other-controller", Name: "other"},
			{Controller: "some-controller", Name: "unheard_of", Depth: 3},
			{Controller: "some-controller", Name: "some", Workers: 5, Depth: 2, Adds: 1, Retries: 4, ErrorRetries: 3},
		},
	},
	Aliases: map[string][]string{"some-controller": {"some", "sm"}},
	Flags: []control.Flag{
		{Set: "generic", Name: "things", Default: "1", Value: "2", Usage: "How many\nthings."},
		{Set: "generic", Name: "other", Value: "x"},
		{Set: "some-controller", Name: "concurrent-some-syncs", Default: "5", Value: "5", Usage: "The number of things that are made at the same time, as far as that is possible here."},
		{Set: "some-controller", Name: "some-file", Default: "", Value: "/x"},
	},
	Versions: map[string]string{"k8s.io/kubernetes": "v1.37.1"},
	RBAC: newRBAC([]rbacv1.ClusterRole{{ObjectMeta: objectMeta("things", ""), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"example.com"}, Resources: []string{"things"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"update", "get"}},
	}}}, nil, []rbacv1.ClusterRoleBinding{{
		RoleRef:  rbacv1.RoleRef{Kind: "ClusterRole", Name: "things"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "kube-system", Name: "some-controller"}},
	}}, nil),
}

func renderText(t *testing.T, e Entry, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := e.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestEntryText(t *testing.T) {
	stopped := Facts{Flags: runningFacts.Flags, Aliases: runningFacts.Aliases}
	noRoles := runningFacts
	noRoles.RBAC = newRBAC(nil, nil, nil, nil)
	unobserved := runningFacts
	unobserved.Snapshot = &observe.Snapshot{}
	for name, tc := range map[string]struct {
		known Facts
		style Style
	}{
		"running":    {runningFacts, Style{}},
		"color":      {runningFacts, Style{Color: true, Width: 200}},
		"narrow":     {runningFacts, Style{Width: 40, ASCII: true}},
		"stopped":    {stopped, Style{Width: 80}},
		"noroles":    {noRoles, Style{Width: 60}},
		"unobserved": {unobserved, Style{}},
	} {
		t.Run(name, func(t *testing.T) {
			testutil.Golden(t, "testdata/"+name+".golden", []byte(renderText(t, samplePage.NewEntry(tc.known), tc.style)))
		})
	}
}

// Every page fits the width and is ASCII where that is required, and colours change
// nothing else.
func TestEveryPageFitsWidthAndASCII(t *testing.T) {
	for _, p := range Pages() {
		e := p.NewEntry(Facts{Snapshot: &observe.Snapshot{}})
		for _, width := range []int{0, 1, 50, 80, 300} {
			s := Style{Width: width, ASCII: true}
			got := renderText(t, e, s)
			for l := range strings.Lines(got) {
				l = strings.TrimSuffix(l, "\n")
				if strings.HasSuffix(l, " ") || strings.ContainsFunc(l, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }) {
					t.Errorf("%s at %d: %q", p.Name, width, l)
				}
				// A word that does not fit is not broken.
				if ansi.StringWidth(l) > s.lineWidth() && strings.Count(strings.TrimSpace(l), " ") > 4 {
					t.Errorf("%s at %d has %d columns: %s", p.Name, width, ansi.StringWidth(l), l)
				}
			}
			if width == 80 && p.Drawing != "" && !strings.Contains(got, strings.TrimSpace(strings.Split(asciiDrawing.Replace(p.Drawing), "\n")[2])) {
				t.Errorf("%s has no drawing in 80 columns:\n%s", p.Name, got)
			}
		}
		if got, want := ansi.Strip(renderText(t, e, Style{Color: true})), renderText(t, e, Style{}); got != want {
			t.Errorf("%s in colour: %s", p.Name, cmp.Diff(want, got))
		}
	}
}

func TestListHasEveryPage(t *testing.T) {
	for _, s := range []Style{{}, {Width: 40}, {Width: 40, ASCII: true, Color: true}} {
		var b bytes.Buffer
		if err := WriteList(&b, s); err != nil {
			t.Fatal(err)
		}
		got := ansi.Strip(b.String())
		for _, g := range groups {
			if !strings.Contains(got, "\n"+g.Title+"\n") && !strings.HasPrefix(got, g.Title+"\n") {
				t.Errorf("%+v: no heading %s", s, g.Title)
			}
		}
		for _, p := range Pages() {
			if strings.Count(got, "\n  "+p.ShortName()[:min(len(p.ShortName()), 30)]) < 1 {
				t.Errorf("%+v: no line of %s", s, p.Name)
			}
		}
		for l := range strings.Lines(got) {
			if w := ansi.StringWidth(strings.TrimSuffix(l, "\n")); s.Width > 0 && w > s.Width {
				t.Errorf("%+v: %d columns: %s", s, w, l)
			}
		}
	}
	items := List(runningFacts.Aliases)
	if len(items) != len(Pages()) {
		t.Errorf("%d items of %d pages", len(items), len(Pages()))
	}
}

// Facts about one controller do not appear in the entry of another.
func TestEntryIgnoresOtherControllers(t *testing.T) {
	e := Page{Name: "third-controller", Queues: map[string]string{"x": "y"}}.NewEntry(runningFacts)
	if !e.Asked || e.Observed || e.State != "" || len(e.Watches)+len(e.Writes)+len(e.Flags)+len(e.Permissions)+len(e.Aliases) > 0 {
		t.Errorf("%+v", e)
	}
	if diff := cmp.Diff([]Queue{{Name: "x", Key: "y"}}, e.Queues, cmp.AllowUnexported(Queue{})); diff != "" {
		t.Error(diff)
	}
}
