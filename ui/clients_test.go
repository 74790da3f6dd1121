package ui

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestPausedClientIsMarked(t *testing.T) {
	var out strings.Builder
	list := []observe.Client{{Name: "kubectl (admin)", State: "paused"}, {Name: "curl (admin)", State: "running"}}
	if err := WriteClients(&out, list, false); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "kubectl (admin), paused ") || strings.Contains(got, "curl (admin),") {
		t.Errorf("got\n%s", got)
	}
}

// The table fits 100 columns, whatever the last request was about.
func TestClientsFit(t *testing.T) {
	watch := func(resources ...string) (list []observe.ClientWatch) {
		for _, r := range resources {
			list = append(list, observe.ClientWatch{Resource: r})
		}
		return list
	}
	last := &observe.Called{Verb: "update", Object: observe.Object{Resource: "validatingwebhookconfigurations", Namespace: "shop", Name: "a-name-that-is-rather-long"}, Status: 404}
	var out strings.Builder
	list := []observe.Client{
		{Name: "shop-operator (system:serviceaccount:shop:operator)", Watches: watch("deployments.apps", "services", "services", "sites.example.com", "ingresses.networking.k8s.io"), Last: last},
		{Name: "kubectl (kubernetes-admin)", State: "paused", Last: last},
	}
	if err := WriteClients(&out, list, false); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimRight(l, "\n")); n > statusWidth {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	if !strings.Contains(out.String(), "  update ") {
		t.Errorf("got\n%s", &out)
	}
}

func TestDroppedReportsAreSaid(t *testing.T) {
	s := observe.Snapshot{Clients: []observe.Client{{Name: "operator (admin)", State: "running", ReportsDropped: 2048}}}
	for _, format := range []string{"", "wide"} {
		var out strings.Builder
		if err := WriteStatus(&out, s, format); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, "dropped 2,048 records of its controllers: causes may be missing") {
			t.Errorf("%q: got\n%s", format, got)
		}
	}
}
