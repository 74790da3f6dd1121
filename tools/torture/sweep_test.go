//go:build linux

package main

import (
	"slices"
	"testing"
)

// A sweep goes through all calls until the operation no longer reaches them, and begins
// again.
func TestSweepCoversEveryCall(t *testing.T) {
	calls := []int{2, 1, 0, 3, 1} // how often the operation makes each
	var want []point
	for call, n := range calls {
		for nth := 1; nth <= n+1; nth++ { // the last one is not reached
			want = append(want, point{call, nth})
		}
	}
	want = append(want, want...)
	var s sweep
	var got []point
	for range want {
		p := s.take()
		s.reached(p, p.nth <= calls[p.call])
		got = append(got, p)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if got, want := s.progress(), "1 times through all calls, then up to call 2 of ftruncate"; got != want {
		t.Errorf("progress: got %q, want %q", got, want)
	}
}

// The error of strace was seen in a campaign.
func TestLostTracee(t *testing.T) {
	for output, want := range map[string]bool{
		"data folder     39 ms\nstrace: ptrace(PTRACE_LISTEN,pid:6798,sig:0): Input/output error\n": true,
		"ctrlplane: etcd: no space left on device\n":                                                false,
		"": false,
	} {
		if got := hasStraceLost(output); got != want {
			t.Errorf("%q: %v", output, got)
		}
	}
}
