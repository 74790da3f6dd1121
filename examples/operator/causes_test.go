package main

import (
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// testCauses shows how a test can ask why something happened. The operator reports its
// queue (see main.go), so that all causes are certain.
func testCauses(t *siteTest) {
	t.cp.WaitHealthy(t, t.createSite("why", "why.example"))
	// A sync is reported a moment after it has ended.
	awaitTrue(t.T, "story of the site", func() bool { return t.isExplained("why") })
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
		if link.Cause != nil && link.Cause.Certainty != trace.Exact {
			return false // until its sync is reported
		}
	}
	first := chain.Links[len(chain.Links)-1]
	return chain.Complete && first.Verb == "create" && first.Object.Resource == "sites" && first.Object.Name == name
}
