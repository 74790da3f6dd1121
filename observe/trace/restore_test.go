package trace

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// What a restore has changed or deleted is the restore's, whatever was done before.
func TestWhyAfterARestore(t *testing.T) {
	c := newCluster(t)
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "ns", Name: "web"}
	later := observe.Object{Resource: "configmaps", Kind: "ConfigMap", Namespace: "ns", Name: "later"}
	kubectl := c.observer.Recorder("kubectl (admin)")
	c.write(kubectl, "create", web, "")
	c.write(kubectl, "patch", web, "scale")
	c.write(kubectl, "create", later, "")
	for _, o := range []observe.Object{web, later} {
		resource := map[string]string{"deployments": "deployments.apps", "configmaps": "configmaps"}[o.Resource]
		c.observer.Append(&observe.Called{
			Controller: "ctrlplane", Verb: observe.VerbRestore, Object: o, Status: 200, Began: time.Now(), ResourceVersion: "63", Client: &observe.Caller{},
			Wrote: []observe.Written{{Resource: resource, Namespace: o.Namespace, Name: o.Name, ResourceVersion: "63", Deleted: o == later}},
		})
	}
	c.observer.Append(&observe.Delivered{Controller: "deployment-controller", Change: observe.Listed, Object: web, ResourceVersion: "63"})
	page, err := c.observer.Records(t.Context(), observe.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		about observe.Object
		what  What
		want  string
	}{
		{web, Changed, "ctrlplane restored Deployment web (version 63), as it is in a snapshot\n"},
		{later, Deleted, "ctrlplane removed ConfigMap later: the restored snapshot does not have it\n"},
		{web, Created, "kubectl (admin) created Deployment web"},
	} {
		chain, err := Why(page.Records, test.about, Options{What: test.what})
		if err != nil {
			t.Error(err)
			continue
		}
		var text bytes.Buffer
		if err := chain.Write(&text, Text, Style{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), test.want) || test.what != Created && !chain.Complete {
			t.Errorf("%s\nwant %q", &text, test.want)
		}
	}
	tree, err := Build(page.Records, web, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if last := tree.Roots[len(tree.Roots)-1]; last.Verb != observe.VerbRestore {
		t.Errorf("the trace ends with %s %s", last.Controller, last.Verb)
	}
}

// A restore deletes an object before it creates another one with the same name.
func TestWhyAfterARestoreOfAnotherObject(t *testing.T) {
	testutil.RequireFineClock(t)
	c := newCluster(t)
	site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "ns", Name: "shop", UID: "old"}
	c.write(c.observer.Recorder("kubectl (admin)"), "create", site, "")
	began := time.Now()
	for _, w := range []observe.Written{{ResourceVersion: "62", Deleted: true}, {ResourceVersion: "63"}} {
		w.Resource, w.Namespace, w.Name = "sites.example.com", site.Namespace, site.Name
		c.observer.Append(&observe.Called{
			Controller: "ctrlplane", Verb: observe.VerbRestore, Object: site, Status: 200, Began: began, ResourceVersion: w.ResourceVersion, Client: &observe.Caller{},
			Wrote: []observe.Written{w},
		})
		site.UID = "new"
	}
	site.UID = "old"
	c.observer.Append(&observe.Delivered{Controller: "operator/site", Change: observe.Deleted, Object: site, ResourceVersion: "62"})
	site.UID = "new"
	c.observer.Append(&observe.Delivered{Controller: "operator/site", Change: observe.Added, Object: site, ResourceVersion: "63"})
	site.UID = ""
	for _, tc := range []struct {
		what What
		says []string
		none string
	}{
		{"", []string{"kubectl (admin) created Site shop", "ctrlplane restored Site shop."}, "removed"},
		{Changed, []string{"ctrlplane restored Site shop (version 63), as it is in a snapshot\n"}, "removed"},
		{Deleted, []string{"ctrlplane removed Site shop: the restored snapshot has another object of this name\n", "ctrlplane restored Site shop."}, "does not have it"},
	} {
		chain, err := Why(c.catchUp(), site, Options{What: tc.what})
		if err != nil {
			t.Fatal(err)
		}
		checkSays(t, chain, tc.says, tc.none)
		checkSays(t, chain, nil, "unrecorded client")
	}
}
