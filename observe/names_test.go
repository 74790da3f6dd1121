package observe

import "testing"

func TestSplitReported(t *testing.T) {
	for _, c := range []struct {
		controller, of, name string
		is                   bool
	}{
		{"deployment-controller", "deployment-controller", "", false},
		{"shop/site", "shop", "site", true},
		{"shop (admin)", "shop (admin)", "", false},
		{"shop (admin)/site", "shop (admin)", "site", true},
		{"shop (https://id/#jane)", "shop (https://id/#jane)", "", false},
		{"shop (https://id/#jane)/site", "shop (https://id/#jane)", "site", true},
		{"shop/sites (old)/all", "shop", "sites (old)/all", true},
	} {
		if of, name, is := SplitReported(c.controller); of != c.of || name != c.name || is != c.is || IsReported(c.controller) != c.is {
			t.Errorf("%s: got %q, %q, %v", c.controller, of, name, is)
		}
	}
	if got := ProgramOf("shop (https://id/#jane)"); got != "shop" {
		t.Errorf("got %q", got)
	}
}
