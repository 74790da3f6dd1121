package live

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestComputeLayout(t *testing.T) {
	tests := []struct {
		name               string
		w, h, share, needs int
		notice             int
		want               areas
	}{
		{"common", 80, 24, 60, 99, 0, areas{
			header: rect{0, 0, 80, 2}, upper: rect{0, 2, 80, 12}, feed: rect{0, 14, 80, 9}, notice: rect{0, 23, 80, 0}, footer: rect{0, 23, 80, 1}}},
		{"with a notice", 80, 24, 60, 99, 1, areas{
			header: rect{0, 0, 80, 2}, upper: rect{0, 2, 80, 12}, feed: rect{0, 14, 80, 8}, notice: rect{0, 22, 80, 1}, footer: rect{0, 23, 80, 1}}},
		{"low", 60, 15, 60, 99, 0, areas{
			header: rect{0, 0, 60, 1}, upper: rect{0, 1, 60, 7}, feed: rect{0, 8, 60, 6}, notice: rect{0, 14, 60, 0}, footer: rect{0, 14, 60, 1}}},
		{"few rows", 80, 24, 60, 5, 0, areas{
			header: rect{0, 0, 80, 2}, upper: rect{0, 2, 80, 5}, feed: rect{0, 7, 80, 16}, notice: rect{0, 23, 80, 0}, footer: rect{0, 23, 80, 1}}},
		{"no rows", 80, 24, 60, 0, 0, areas{
			header: rect{0, 0, 80, 2}, upper: rect{0, 2, 80, 3}, feed: rect{0, 5, 80, 18}, notice: rect{0, 23, 80, 0}, footer: rect{0, 23, 80, 1}}},
		{"all share", 80, 24, 100, 99, 0, areas{
			header: rect{0, 0, 80, 2}, upper: rect{0, 2, 80, 18}, feed: rect{0, 20, 80, 3}, notice: rect{0, 23, 80, 0}, footer: rect{0, 23, 80, 1}}},
		{"too narrow", minWidth - 1, 24, 60, 99, 0, areas{tooSmall: true}},
		{"too low", 80, minHeight - 1, 60, 99, 0, areas{tooSmall: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := computeLayout(tt.w, tt.h, tt.share, tt.needs, tt.notice)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(areas{}, rect{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A terminal that is too small says which size it needs, as far as that has room.
func TestTooSmallTerminal(t *testing.T) {
	_, busy, _ := testSources()
	for _, tc := range []struct {
		w, h int
		want string
	}{
		{100, 8, "terminal too small\n100x8, needs 40x10"},
		{39, 9, "terminal too small\n39x9, needs 40x10"},
		{100, 1, "terminal too small"},
	} {
		m := newTestModel(t, Options{Source: busy, Purpose: testPurpose}, tc.w, tc.h)
		if got := m.View().Content; got != tc.want {
			t.Errorf("%dx%d: %q, want %q", tc.w, tc.h, got, tc.want)
		}
	}
}

// Keys answer a question at every size: it is drawn at every size, too.
func TestQuestionsOfTooSmallTerminal(t *testing.T) {
	for _, tc := range []struct {
		key  string
		w, h int
		want string
	}{
		{"q", 100, 8, " Stop the control plane?  [s]top  [l]eave it running here  [esc] cancel"},
		{"q", 39, 9, " Stop the control plane?  [s]top\n [l]eave it running here  [esc] cancel"},
		{"x", 30, 9, " Stop\n endpointslice-controller?\n [y]es  [esc] cancel"},
		{"x", 30, 1, " Stop e…?  [y]es  [esc] cancel"},
	} {
		m := pressKeys(t, modelOnQueue(t, sourceWithHeldWrites(), "endpoint_slice"), tc.key)
		m = sendMsgs(t, m, tea.WindowSizeMsg{Width: tc.w, Height: tc.h})
		if got := m.View().Content; got != tc.want {
			t.Errorf("%s at %dx%d: %q, want %q", tc.key, tc.w, tc.h, got, tc.want)
		}
	}
}

// TestEverySize draws every screen at every size.
func TestEverySize(t *testing.T) {
	_, busy, trouble := testSources()
	screens := []struct {
		source observe.Source
		keys   []string
	}{
		{busy, nil}, {trouble, nil}, {trouble, []string{"?"}}, {trouble, []string{"q"}}, {trouble, []string{"/", "x"}},
		{trouble, []string{"space"}}, {trouble, []string{"enter"}}, {trouble, []string{"tab", "enter"}}, {trouble, []string{"tab", "a"}},
	}
	for _, s := range screens {
		o := optionsWithWarnings(Options{Source: s.source, Purpose: testPurpose}, "the data folder is nearly full: 99 % of 12 GiB are used, which leaves room for a few minutes", "other")
		m := pullOnce(t, pressKeys(t, newTestModel(t, o, 120, 40), s.keys...))
		for w := 60; w <= 250; w += 5 {
			for h := 15; h <= 80; h += 13 {
				expectFits(t, sendMsgs(t, m, tea.WindowSizeMsg{Width: w, Height: h}))
			}
		}
		for _, size := range [][2]int{{0, 0}, {1, 1}, {10, 3}, {minWidth, minHeight}, {250, minHeight}, {minWidth, 80}} {
			expectFits(t, sendMsgs(t, m, tea.WindowSizeMsg{Width: size[0], Height: size[1]}))
		}
	}
}

func TestColumnsAreDroppedInOrder(t *testing.T) {
	var before int
	for w := 20; w <= 250; w++ {
		placed := placeColumns(tableColumns(), w, 44, 36)
		end := 0
		for _, c := range placed {
			end = c.x + c.w
		}
		if end > w && len(placed) > 1 {
			t.Errorf("width %d: the columns are %d wide", w, end)
		}
		if placed[0].id != colController {
			t.Errorf("width %d: the first column is %v", w, placed[0].heading)
		}
		before = max(before, len(placed))
	}
	if want := len(tableColumns()); before != want {
		t.Errorf("the widest table has %d columns, want %d", before, want)
	}
}

// The header counts objects with problems together if it has no room for each kind.
func TestHeaderOfManyProblems(t *testing.T) {
	idle, _, _ := testSources()
	m := newTestModel(t, Options{Source: idle, Purpose: testPurpose}, 100, 30)
	m.snapshot.Process.Settled = true
	for _, step := range []struct {
		added observe.ProblemKind
		want  string
	}{
		{observe.CannotStart, "! settled, 4 Pods cannot start"},
		{observe.WaitsForRestart, "! settled, 4 Pods cannot start, 4 Pods wait for a restart"},
		{observe.Unschedulable, "! settled, 12 objects have a problem"},
	} {
		m.snapshot.Problems = append(m.snapshot.Problems, observe.Problem{Kind: "Pod", What: step.added, Count: 4})
		if header := m.headerLines(100, 2)[0]; !strings.Contains(header, step.want+"\x1b[m") || !strings.Contains(header, m.snapshot.Process.Name) {
			t.Errorf("header %q, want %q", header, step.want)
		}
	}
}

// The version stays at 100 columns when it is not the usual one.
func TestEmulatedVersionIsShown(t *testing.T) {
	idle, _, _ := testSources()
	m := newTestModel(t, Options{Source: idle, Purpose: testPurpose}, 100, 30)
	m.snapshot.Process.Version, m.snapshot.Process.Kubernetes = "v0.3.0-0.20261122", "1.35 (emulated by 1.37.1)"
	header := strings.Join(m.headerLines(100, 2), "\n")
	if !strings.Contains(header, "Kubernetes 1.35 (emulated)") {
		t.Errorf("header %q", header)
	}
}
