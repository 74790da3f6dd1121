package explain

import (
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

// A part of a name means the controller whose process runs.
func TestReportedPageByPartOfName(t *testing.T) {
	s := &observe.Snapshot{
		Clients: []observe.Client{
			{Name: "chaos (sa)", Controllers: []string{"chaos/site"}},
			{Name: "chaos (admin)", Controllers: []string{"chaos (admin)/site"}},
			{Name: "shop (admin)", Controllers: []string{"shop/page", "shop/cart"}},
		},
		Controllers: []observe.Controller{{Name: "chaos/site", State: "off"}, {Name: "chaos (admin)/site", State: "running"}, {Name: "shop/page", State: "running"}, {Name: "shop/cart", State: "running"}},
	}
	for name, want := range map[string]string{
		"chaos": "chaos (admin)/site", "site": "chaos (admin)/site", "chaos/site": "chaos/site", "chaos (admin)/site": "chaos (admin)/site",
		"cart": "shop/cart", "shop": "", "other": "",
	} {
		if page, ok := ReportedPage(s, name); ok != (want != "") || page.Name != want {
			t.Errorf("%s: got %q, %v, want %q", name, page.Name, ok, want)
		}
	}
}

// What a controller has had events of so far is not what it watches: these may be of kinds without objects, or refused.
func TestReportedPageNamesTheWatchesOfItsClient(t *testing.T) {
	s := &observe.Snapshot{
		Clients: []observe.Client{{
			Name: "shop (admin)", Controllers: []string{"shop/site"}, Refused: "list of configmaps is refused",
			Watches: []observe.ClientWatch{{Resource: "sites.example.com"}, {Resource: "deployments.apps"}, {Resource: "sites.example.com", Namespace: "shop"}},
		}},
		Controllers: []observe.Controller{{Name: "shop/site", State: "running", Watches: []string{"sites.example.com"}}},
	}
	page, _ := ReportedPage(s, "shop/site")
	const want = "\nWatches of shop (admin)\n  deployments.apps, sites.example.com\n  list of configmaps is refused\n\nHad events so far of\n  sites.example.com\n"
	if text := renderText(t, page.NewEntry(Facts{Snapshot: s}), Style{}); !strings.Contains(text, want) {
		t.Errorf("no %q in:\n%s", want, text)
	}
}

// A controller of ctrlplane reconcile is not told to have the module.
func TestReportedPageOfACommand(t *testing.T) {
	s := &observe.Snapshot{Clients: []observe.Client{{Name: "operator (admin)", Controllers: []string{"operator/site"}}}, Controllers: []observe.Controller{{Name: "operator/site", State: "running"}}}
	page, _ := ReportedPage(s, "site")
	text := strings.Join(strings.Fields(renderText(t, page.NewEntry(Facts{Snapshot: s}), Style{})), " ")
	for _, want := range []string{"with the instrument module, or as ctrlplane reconcile, which runs a command for each key", "or the command of ctrlplane reconcile exits with a code other than 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in: %s", want, text)
		}
	}
}
