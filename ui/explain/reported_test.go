package explain

import (
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
