package control

import "testing"

// The reason of a failed write may be the status alone, as that of a Secret: it is said once.
func TestOutcomeOfASteppedWrite(t *testing.T) {
	for want, s := range map[string]SteppedWrite{
		"200 OK":                {Status: 200},
		"404 NotFound":          {Status: 404, Error: "404 NotFound"},
		"403 pods is forbidden": {Status: 403, Error: "pods is forbidden"},
		"409 4091 is the port":  {Status: 409, Error: "4091 is the port"},
		"the client went away":  {Error: "the client went away"},
	} {
		if got := s.Outcome(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
