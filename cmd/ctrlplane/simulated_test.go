package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

func TestSimulatedLine(t *testing.T) {
	several := func(n int, programs ...string) (list []ctrlplane.NotRunPrograms) {
		for i := range n {
			list = append(list, ctrlplane.NotRunPrograms{
				NotRunObject: nodes.NotRunObject{Kind: "Job", Namespace: "a", Name: fmt.Sprint(i)}, Programs: programs,
			})
		}
		return list
	}
	for _, test := range []struct {
		list []ctrlplane.NotRunPrograms
		more bool
		want string
	}{
		{nil, false, ""},
		{several(2, "rake db:migrate"), false, "simulated, not run: Job a/0 (rake db:migrate), Job a/1 (rake db:migrate)"},
		{several(1, "x", "y", "z"), false, "simulated, not run: Job a/0 (x, y and 1 more)"},
		{several(5, "x"), false, "simulated, not run: Job a/0 (x), Job a/1 (x), Job a/2 (x) and 2 more"},
		{several(1, "x\n::error::x\n##[error]\x1b[31m\u202e"), false, "simulated, not run: Job a/0 (x : :error::x # #[error][31m)"},
		{several(5, "x"), true, "simulated, not run: Job a/0 (x), Job a/1 (x), Job a/2 (x) and 2 more, at least"},
	} {
		if got := simulatedLine(test.list, test.more); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}

// TestSimulatedObjects: the report has what the line leaves out.
func TestSimulatedObjects(t *testing.T) {
	object := func(name string, programs ...string) ctrlplane.NotRunPrograms {
		return ctrlplane.NotRunPrograms{NotRunObject: nodes.NotRunObject{Kind: "Job", Namespace: "a", Name: name}, Programs: programs}
	}
	few := []ctrlplane.NotRunPrograms{object("1", "x", "y"), object("2", "x"), object("3", "x")}
	for name, test := range map[string]struct {
		list []ctrlplane.NotRunPrograms
		want []string
	}{
		"all are in the line": {few, nil},
		"many programs":       {[]ctrlplane.NotRunPrograms{object("1", "x", "y", "z\n::error::z")}, []string{"Job a/1 (x, y, z : :error::z)"}},
		"many objects":        {append(few, object("4", "x")), []string{"Job a/1 (x, y)", "Job a/2 (x)", "Job a/3 (x)", "Job a/4 (x)"}},
	} {
		if diff := cmp.Diff(test.want, simulatedObjects(test.list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
