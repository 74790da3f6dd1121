package oomkill

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/ctrlplane/ctrlplane/internal/memorygroup"
)

const (
	scoreFile = "/proc/self/oom_score_adj"
	// preference is added to a score, which is in thousandths of the memory that there is: with it the smallest process is
	// killed before a larger one without it.
	preference = 1000
	maxScore   = 1000
)

// Prefer calls start, which starts a process. If the control group of this process limits its memory, the kernel
// kills that one, and what it starts, before this one when memory runs out.
func Prefer(start func() error) error {
	if _, err := memlimit.FromCgroup(); err != nil {
		return start()
	}
	return startPreferred(start)
}

var scoreMu sync.Mutex // held while the score of this process is not its own

// startPreferred has a process inherit a higher score: it may have started others before its own could be set.
func startPreferred(start func() error) error {
	scoreMu.Lock()
	defer scoreMu.Unlock()
	own, err := os.ReadFile(scoreFile)
	if err != nil {
		return start()
	}
	score, err := strconv.Atoi(strings.TrimSpace(string(own)))
	if err != nil {
		return start()
	}
	// Both need no privilege. Where /proc cannot be written, the kernel chooses.
	if os.WriteFile(scoreFile, strconv.AppendInt(nil, int64(min(score+preference, maxScore)), 10), 0) == nil {
		defer func() { _ = os.WriteFile(scoreFile, own, 0) }()
	}
	return start()
}

// kills returns how many processes of the control group of this one the kernel has killed.
func kills() (uint64, error) {
	group, err := memorygroup.Own()
	if err != nil {
		return 0, err
	}
	file := "memory.events"
	if group.V1 {
		file = "memory.oom_control"
	}
	text, err := os.ReadFile(filepath.Join(group.Dir, file))
	if err != nil {
		return 0, err
	}
	return parseKills(string(text))
}

// parseKills reads memory.events or memory.oom_control.
func parseKills(text string) (uint64, error) {
	for line := range strings.Lines(text) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" {
			return strconv.ParseUint(value, 10, 64)
		}
	}
	return 0, fmt.Errorf("the kernel does not count them")
}
