package endsignals

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f Filter
		for i, step := range []struct {
			after time.Duration
			want  bool
		}{
			{0, true},
			{0, false},
			{RepeatTime - 1, false},
			{1, true}, // repetitions do not delay it
			{RepeatTime / 2, false},
			{RepeatTime, true},
		} {
			time.Sleep(step.after)
			if got := f.Counts(); got != step.want {
				t.Errorf("signal %d: counts: %t", i, got)
			}
		}
	})
}
