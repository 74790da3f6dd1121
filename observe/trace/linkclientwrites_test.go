package trace

import (
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What a client has found in a list before its first watch is a cause if it opens one: a user's script does not.
func TestWhyOfWhatAScriptListed(t *testing.T) {
	for name, test := range map[string]struct {
		client observe.Client
		want   string
	}{
		"never watches": {want: "The cause of the last line is not known."},
		"watches then":  {client: observe.Client{Watches: []observe.ClientWatch{{Resource: "sites"}}}, want: "likely because it found Site shop when it started. It began when kubectl (admin) created Site shop."},
		"has ended":     {client: observe.Client{Watched: []string{"sites"}}, want: "likely because it found Site shop"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			site := observe.Object{Group: "example.com", Resource: "sites", Kind: "Site", Namespace: "default", Name: "shop"}
			version := ""
			create := &observe.Called{Verb: "create", Object: site, Status: 201, Began: time.Now(), Client: &observe.Caller{}}
			c.observer.Recorder("kubectl (admin)").Call(create, func() { version = c.store(site, false) })
			found := c.observer.AppendAt(&observe.Delivered{Controller: "copier (admin)", Change: observe.Listed, Object: site, ResourceVersion: version}, time.Now())
			copied := &observe.Called{Verb: "create", Object: deployment("shop"), Status: 201, Began: time.Now(), Client: &observe.Caller{}, Cause: found, Unexplained: &observe.Received{}}
			c.observer.Recorder("copier (admin)").Call(copied, func() { c.store(deployment("shop"), false) })
			test.client.Name = "copier (admin)"
			chain, err := Why(c.catchUp(), deployment("shop"), Options{State: observe.Snapshot{Clients: []observe.Client{test.client}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(writeString(t, chain, Text, Style{})), " "); !strings.Contains(got, test.want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
