package observe

import (
	"slices"
	"testing"
)

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

// A program stands for its only client, or its only connected one.
func TestClientsNamed(t *testing.T) {
	list := []string{"kubectl (alice)", "kubectl (bob)", "shop (operator)", "agent (a)", "agent (b)", "agent (c)"}
	name := func(c string) string { return c }
	isConnected := func(c string) bool { return slices.Contains([]string{"kubectl (bob)", "agent (a)", "agent (b)"}, c) }
	for word, want := range map[string][]string{
		"kubectl (alice)": {"kubectl (alice)"},
		"kubectl":         {"kubectl (bob)"},
		"shop":            {"shop (operator)"},
		"agent":           {"agent (a)", "agent (b)", "agent (c)"},
		"none":            nil,
	} {
		if got := ClientsNamed(list, word, name, isConnected); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
