//go:build linux

package main

import (
	"errors"
	"testing"
	"time"
)

func TestFormatTable(t *testing.T) {
	got := formatTable([]*tally{
		{kind: kind{name: "kill under load"}, tried: 3, kills: 24, spent: 9 * time.Second},
		{kind: kind{name: "full disk"}, missing: "mount a tmpfs: operation not permitted"},
		{kind: kind{name: "sweep a save"}, trial: trial{progress: func() string { return "2 of 5 calls" }}, tried: 1, kills: 1, spent: 2 * time.Second},
		{kind: kind{name: "lost leader"}, tried: 2, lost: 1, kills: 1, spent: 40 * time.Second, firstErr: errors.New("it hangs\nfor ever")},
	})
	want := `KIND             TRIED  SURVIVED  LOST  KILLS  TIME  NOTE
kill under load  3      3         0     24     9s    
full disk        0      0         0     0      0s    not tried: mount a tmpfs: operation not permitted
sweep a save     1      1         0     1      2s    2 of 5 calls
lost leader      2      1         1     1      40s   it hangs
all              6      5         1     26     51s   
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
