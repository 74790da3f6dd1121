package observe

import "testing"

func TestInterventionReasons(t *testing.T) {
	for reason, want := range map[string]struct {
		paused     bool
		afterPause string
		configured int
		unscaled   string
	}{
		"":         {},
		WritesHeld: {paused: true, unscaled: WritesHeld},
		WritesHeld + ", " + EachCallWaits + " 2s":          {true, EachCallWaits + " 2s", 0, WritesHeld + ", " + EachCallWaits + " 2s"},
		WritesHeld + ", " + ScaledReason(1, 5):             {true, ScaledReason(1, 5), 5, WritesHeld},
		ScaledReason(1000, 5):                              {false, ScaledReason(1000, 5), 5, ""},
		EachCallWaits + " 2s, " + ScaledReason(2, 12):      {false, EachCallWaits + " 2s, " + ScaledReason(2, 12), 12, EachCallWaits + " 2s"},
		"takes 3 in place of 2":                            {false, "takes 3 in place of 2", 0, "takes 3 in place of 2"},
		WritesHeld + " elsewhere":                          {false, WritesHeld + " elsewhere", 0, WritesHeld + " elsewhere"},
		"each of 3 workers in place of 2 calls the server": {false, "each of 3 workers in place of 2 calls the server", 0, "each of 3 workers in place of 2 calls the server"},
	} {
		if rest, paused := CutWritesHeld(reason); rest != want.afterPause || paused != want.paused {
			t.Errorf("%q: paused: %v, then %q", reason, paused, rest)
		}
		if rest, configured := CutScaled(reason); rest != want.unscaled || configured != want.configured {
			t.Errorf("%q: %d workers configured, before %q", reason, configured, rest)
		}
	}
}
