package live

import "testing"

// What is wrong comes before what is known from the key.
func TestEssence(t *testing.T) {
	for err, want := range map[string]string{
		`pods "broken-" is forbidden: exceeded quota: small`: "forbidden: exceeded quota: small",
		`deployments.apps "shop" not found`:                  "not found",
		`nodes "a" is`:                                       `is`,
		"connection refused":                                 "connection refused",
		`create: pods "x" already exists`:                    `create: pods "x" already exists`,
		"":                                                   "",
	} {
		if got := essence(err); got != want {
			t.Errorf("%q: got %q, want %q", err, got, want)
		}
	}
}
