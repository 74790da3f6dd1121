package health

import (
	"strings"
	"testing"
)

// Why a custom resource is not ready may be in an object that it owns.
func TestWhyNamesOwnedObjects(t *testing.T) {
	const certificate = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: late}, ` +
		`status: {conditions: [{type: Ready, status: "False", reason: DoesNotExist, message: no Secret, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
	owned := func(kind, name, by, created, status string) string {
		return strings.Replace(`{`+kind+`, metadata: {namespace: shop, name: `+name+`, creationTimestamp: "`+created+`", `+
			`ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: x, uid: uid-of-OWNER, controller: true}]}, status: {`+status+`}}`, "OWNER", by, 1)
	}
	const request, deployment = `apiVersion: example.com/v1, kind: Widget`, `apiVersion: apps/v1, kind: Deployment`
	const pending = `conditions: [{type: Ready, status: "False", reason: Pending, message: no issuer}]`
	const ready = `conditions: [{type: Ready, status: "True"}]`
	const early, late = "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"
	over := warning("late", "RequestFailed", "already exists", "2026-01-01T00:00:03Z")
	for name, test := range map[string]struct{ objects, want string }{
		"none":             {over, "DoesNotExist: no Secret; last warning: RequestFailed: already exists"},
		"ready":            {owned(request, "late-1", "late", early, ready), "DoesNotExist: no Secret"},
		"not ready":        {owned(request, "late-1", "late", early, pending) + "\n---\n" + over, "DoesNotExist: no Secret; Widget late-1: Pending: no issuer"},
		"of another owner": {owned(request, "late-1", "other", early, pending), "DoesNotExist: no Secret"},
		"the newest": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(deployment, "late-web", "late", late, ""),
			"DoesNotExist: no Secret; Deployment late-web has no ReplicaSet: its controller has not created one (and 1 more that late owns)"},
		"of an owned one": {owned(request, "late-1", "late", early, pending) + "\n---\n" + owned(request, "order", "late-1", late, `conditions: [{type: Stalled, status: "True", message: no DNS}]`),
			"DoesNotExist: no Secret; Widget late-1: Pending: no issuer; Widget order: no DNS"},
		"what the owner says, too": {owned(request, "late-1", "late", early, `conditions: [{type: Ready, status: "False", message: no Secret}]`) + "\n---\n" + over, "DoesNotExist: no Secret"},
		"itself":                   {owned(request, "late-1", "late-1", early, pending) + "\n---\n" + owned(request, "late-2", "late", early, ready), "DoesNotExist: no Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, append(documents(test.objects), certificate)...)
			c.serve("example.com/v1", "widgets", "Widget", true)
			if got := c.Why(t.Context(), parseObject(t, certificate)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Objects that claim to own themselves or each other are named once.
func TestWhyOfACycleOfOwners(t *testing.T) {
	widget := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, ` +
		`ownerReferences: [{apiVersion: example.com/v1, kind: Widget, name: w, uid: uid-of-w, controller: true}]}, status: {conditions: [{type: Ready, status: "False", message: no paint}]}}`
	c := newCluster(t, widget)
	c.serve("example.com/v1", "widgets", "Widget", true)
	if got := c.Why(t.Context(), parseObject(t, widget)); got != "no paint" {
		t.Errorf("got %s", got)
	}
}

// A warning from before the state that an object reports is over.
func TestWarningBeforeTheState(t *testing.T) {
	widget := func(since string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, ` +
			`status: {conditions: [{type: Ready, status: "False", message: no paint` + since + `}]}}`
	}
	failed := warning("w", "Failed", "no brush", "2026-01-01T00:00:01Z")
	const both = "no paint; last warning: Failed: no brush"
	for since, want := range map[string]string{
		"": both,
		`, lastTransitionTime: "2026-01-01T00:00:00Z"`: both,
		`, lastTransitionTime: "2026-01-01T00:00:01Z"`: both,
		`, lastTransitionTime: "2026-01-01T00:00:02Z"`: "no paint",
		`, lastTransitionTime: never`:                  both,
	} {
		c := newCluster(t, widget(since), failed)
		c.serve("example.com/v1", "widgets", "Widget", true)
		if got := c.Why(t.Context(), parseObject(t, widget(since))); got != want {
			t.Errorf("%s: got %s, want %s", since, got, want)
		}
	}
}
