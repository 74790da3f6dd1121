package main

import (
	"fmt"
	"testing"

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
		{several(5, "x"), true, "simulated, not run: Job a/0 (x), Job a/1 (x), Job a/2 (x) and 2 more, at least"},
	} {
		if got := simulatedLine(test.list, test.more); got != test.want {
			t.Errorf("got  %q\nwant %q", got, test.want)
		}
	}
}
