package oomkill

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestStartPreferred(t *testing.T) {
	score := func() string { return strings.TrimSpace(testutil.ReadFile(t, scoreFile)) }
	before := score()
	if err := os.WriteFile(scoreFile, []byte(before), 0); err != nil {
		t.Skipf("the score cannot be changed here: %v", err)
	}
	var out strings.Builder
	cmd := exec.CommandContext(t.Context(), "cat", scoreFile)
	cmd.Stdout = &out
	if err := startPreferred(cmd.Start); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	own, err := strconv.Atoi(before)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(out.String()), strconv.Itoa(min(own+preference, maxScore)); got != want {
		t.Errorf("the score of the process is %s, want %s", got, want)
	}
	if after := score(); after != before {
		t.Errorf("the score of this process is %s, was %s", after, before)
	}
}

func TestParseKills(t *testing.T) {
	for text, want := range map[string]uint64{
		"low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 1\n": 3,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 12\n":              12,
	} {
		if got, err := parseKills(text); got != want || err != nil {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
	if _, err := parseKills("oom_kill_disable 0\nunder_oom 0\n"); err == nil { // before Linux 4.13
		t.Error("no error without a count")
	}
}

func TestCounter(t *testing.T) {
	n, err := uint64(3), error(nil)
	read := func() (uint64, error) { return n, err }
	c := newCounter(read)
	if c.Any() {
		t.Error("counts what was before")
	}
	n++
	if !c.Any() {
		t.Error("does not count")
	}
	if err = errors.New("gone"); c.Any() || newCounter(read).Any() {
		t.Error("counts without a count")
	}
}
