package health

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Many changes of a message are said once a second, and each change of the status at once.
func TestProgressIsLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		say := LimitProgress(time.Second, func(s State) { got = append(got, s.Message) })
		for _, message := range []string{"1", "2", "3"} {
			say(State{Ref: podP, Status: InProgress, Message: message})
		}
		say(State{Ref: Ref{Name: "other"}, Status: InProgress, Message: "other"})
		say(State{Ref: podP, Status: Current, Message: "4"})
		say(State{Ref: podP, Status: InProgress, Message: "5"})
		time.Sleep(time.Second)
		say(State{Ref: podP, Status: InProgress, Message: "6"})
		if want := []string{"1", "other", "4", "5", "6"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
