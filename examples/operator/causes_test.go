package main

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// testCauses shows how a test can ask why something happened. The operator reports its
// queue (see main.go), so that all causes are certain.
func testCauses(t *siteTest) {
	// What the operator does before its first report has only likely causes.
	awaitTrue(t.T, "report of the operator", t.isReported)
	t.cp.WaitHealthy(t, t.createSite("why", "why.example"))
	// A sync is reported a moment after it has ended.
	awaitTrue(t.T, "story of the site", func() bool { return t.isExplained("why") })
}

func (t *siteTest) isReported() bool {
	s, err := t.cp.Source().Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(s.Controllers, func(c observe.Controller) bool { return c.Name == "operator/site" && c.State == observe.StateRunning })
}

// isExplained reports whether it is certain that a Deployment was created because its Site was.
func (t *siteTest) isExplained(name string) bool {
	options := trace.Options{What: trace.Created}
	records, err := options.ReadRecords(t.Context(), t.cp.Source())
	if err != nil {
		t.Fatal(err)
	}
	deployment := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: t.namespace, Name: name}
	chain, err := trace.Why(records, deployment, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range chain.Links {
		if link.Cause != nil && link.Cause.Certainty != trace.Certain {
			return false // until its sync is reported
		}
	}
	first := chain.Links[len(chain.Links)-1]
	return chain.Complete && first.Verb == "create" && first.Object.Resource == "sites" && first.Object.Name == name
}
