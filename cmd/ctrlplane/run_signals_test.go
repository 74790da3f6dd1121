package main

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
)

// TestRepeatedSignals sends signals to a run at once and later.
func TestRepeatedSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := signalChannel{ch: make(chan os.Signal, 16), forCommand: make(chan os.Signal, 16)}
		received := make(chan os.Signal)
		go s.deliver(received)
		for _, step := range []struct {
			after time.Duration
			sig   os.Signal
		}{
			{0, syscall.SIGTERM},
			{time.Millisecond, syscall.SIGTERM}, // as timeout(1) does
			{time.Millisecond, syscall.SIGHUP},
			{endsignals.RepeatTime, syscall.SIGTERM},
			{endsignals.RepeatTime, syscall.SIGHUP},
			{endsignals.RepeatTime, os.Interrupt},
		} {
			time.Sleep(step.after)
			received <- step.sig
		}
		close(received)
		synctest.Wait()
		for _, got := range []struct {
			of     string
			ch     chan os.Signal
			signal []os.Signal
		}{
			{"that end the run", s.ch, []os.Signal{syscall.SIGTERM, syscall.SIGTERM, os.Interrupt}},
			{"for the command alone", s.forCommand, []os.Signal{syscall.SIGHUP}},
		} {
			close(got.ch)
			if all := slices.Collect(values(got.ch)); !slices.Equal(all, got.signal) {
				t.Errorf("signals %s: %v, want %v", got.of, all, got.signal)
			}
		}
	})
}

// values yields what a closed channel holds.
func values(ch <-chan os.Signal) func(yield func(os.Signal) bool) {
	return func(yield func(os.Signal) bool) {
		for sig := range ch {
			if !yield(sig) {
				return
			}
		}
	}
}
