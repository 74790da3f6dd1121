package shell

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
)

// TestOnWait asserts which commands tell that they wait.
func TestOnWait(t *testing.T) {
	for script, want := range map[string]bool{
		"exit 1":                             false,
		"sleep 0; exit 1":                    false,
		"cat; echo x | cat; x=$(echo y)":     false, // without input, and from each other
		"sleep 1000":                         true,
		"usleep 1; exit 1":                   true,
		"x=$(sleep 1); echo $x":              true,
		"sleep 2 | cat":                      true,
		"timeout 1 sleep 10":                 true,
		"touch f; timeout 1 tail -f f":       true,
		"sleep 1000 & exit 1":                false,
		"sleep 1000 & true | cat; exit 1":    false,
		"(while true; do sleep 1; done) & :": false,
		"sleep 1000 & wait":                  true,
		"sh -c 'sleep 1' & echo x; wait $!":  true,
		"false & wait $! || exit 1":          false,
		"trap 'exit 3' TERM; sleep infinity": true,
		"read -t 1 line":                     false,
	} {
		t.Run(script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				calls := 0
				onWait := func() { calls++ }
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = Run(ctx, Config{Args: []string{"sh", "-c", script}, OnWait: onWait, Limits: Limits{CPUShare: 100}})
				}()
				synctest.Wait()
				if got := calls == 1; got != want {
					t.Errorf("OnWait was called %d times, want it %v", calls, want)
				}
				cancel()
				<-done
			})
		})
	}
}

// TestOnWaitForInput has a command whose input comes from outside.
func TestOnWaitForInput(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	waits, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = Run(t.Context(), Config{Args: []string{"cat"}, Stdin: in, OnWait: func() { close(waits) }})
	}()
	<-waits
	typed.Close()
	<-ended
}
