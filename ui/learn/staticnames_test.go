package learn

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// testNames knows one controller, one queue and one flag.
var testNames = Known{File: "x.md", Controllers: []string{"deployment-controller", "deployment"}, Queues: []string{"deployment", "ClusterRoleAggregator"}, CheckFlags: func(flags []string) error {
	if slices.Equal(flags, []string{"--nodes=2"}) {
		return nil
	}
	return fmt.Errorf("unknown flag: %s", flags)
}}

func TestCheckNames(t *testing.T) {
	text := func(front, steps string) string {
		return "---\ntitle: T\nsummary: S\n" + front + "---\n## One\n" + steps
	}
	check := func(yaml string) string { return text("", "```run\nuntil:\n- {"+yaml+"}\n```\n") }
	crd := "```yaml\nkind: CustomResourceDefinition\nspec: {names: {kind: Shop, plural: shops, singular: shop}}\n```\n"
	for name, tc := range map[string]struct{ text, wrong, note string }{
		"flag":                {text("plane: [--no-such-flag]\n", ""), "x.md:4: plane: unknown flag: [--no-such-flag]", ""},
		"right flag":          {text("plane: [--nodes=2]\n", ""), "", ""},
		"controller":          {check("controller: deploymen, is: running"), `x.md:8: unknown controller "deploymen": did you mean "deployment"?`, ""},
		"right controller":    {check("controller: deployment, is: running"), "", ""},
		"operator":            {check("controller: operator/site, is: running"), "", ""},
		"shown controller":    {text("", "```show\nheld: deploymen\n```\n"), `x.md:6: unknown controller "deploymen": did you mean "deployment"?`, ""},
		"queue":               {check("queue: deplyment, of: depth"), "", `x.md:8: "deplyment" is not a queue of Kubernetes: did you mean "deployment"?`},
		"right queue":         {check("queue: deployment, of: depth"), "", ""},
		"queue with case":     {check("queue: ClusterRoleAggregator, of: depth"), "", ""},
		"queue in lower case": {check("queue: clusterroleaggregator, of: depth"), "", `x.md:8: "clusterroleaggregator" is not a queue of Kubernetes: did you mean "ClusterRoleAggregator"?`},
		"kind":                {check("count: nosuchkind"), "", `x.md:8: "nosuchkind" is not a kind of Kubernetes: the lesson, or a program that it starts, has to add it`},
		"kind of object":      {check("object: deploymnt/web"), "", `x.md:8: "deploymnt" is not a kind of Kubernetes: did you mean "deployment"?`},
		"right kinds":         {check("count: po") + "```show\ntrace: Deployment/web\n```\n```show\nwhy: ingresses.networking.k8s.io/web\n```\n", "", ""},
		"kind of its own":     {check("object: shop/books") + crd, "", ""},
		"queue of its own":    {check("queue: shop, of: depth") + crd, "", ""},
		"program":             {text("", "<!-- needs: goo -->\n"), "", `x.md:5: step "One" is left out on this machine: it needs goo, which is not installed`},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := parseLesson("x.md", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			wrong, notes := l.CheckNames(testNames)
			if got := strings.Join(notes, "\n"); wrong.Error() != tc.wrong || got != tc.note {
				t.Errorf("got %q and %q, want %q and %q", wrong.Error(), got, tc.wrong, tc.note)
			}
		})
	}
}

// A mistake in a value does not hide others, in the same block or elsewhere.
func TestParseReportsAllErrorsInOneRound(t *testing.T) {
	l, err := parseLesson("x.md", []byte("---\ntitle: T\nsummary: S\nminutes: ten\nnodes: -1\n---\n## One\nAn `open one.\n\n| a | b |\n"+
		"```do\nsay: x\nwithin: soon\nuntil:\n- {queue: deplyment, of: dept}\n- {records: {kind: call}, matches: '('}\n- {object: web, path: '.data['}\n- {controller: nosuch, is: runing}\n```\n"+
		"```show\ntrace: deployment\nlines: many\nlog: job\nsays: '('\n```\n"+
		"```ask\nquestion: \"x `y\"\nnumber: one\nwrong:\n- {pattern: '(', why: no}\n```\n"))
	want := []int{4, 5, 8, 10, 13, 15, 16, 16, 17, 17, 18, 20, 21, 22, 24, 26, 28, 30}
	var got []int
	list, _ := errors.AsType[ParseErrors](err)
	for _, e := range list {
		got = append(got, e.Line)
	}
	if !slices.Equal(got, want) {
		t.Errorf("lines %v, want %v:\n%v", got, want, err)
	}
	if wrong, notes := l.CheckNames(testNames); wrong.Error() != `x.md:18: unknown controller "nosuch": "ctrlplane explain" lists them`+"\n"+`x.md:20: unknown controller "job": "ctrlplane explain" lists them` || len(notes) != 1 {
		t.Errorf("got %v and %q", wrong, notes)
	}
}
