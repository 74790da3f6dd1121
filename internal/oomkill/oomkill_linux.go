package oomkill

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/prometheus/procfs"
)

const (
	scoreFile = "/proc/self/oom_score_adj"
	// preference is added to a score, which is in thousandths of the memory that there is: a program with half as much memory as
	// this process is ended before it.
	preference = 500
	maxScore   = 1000
)

// Prefer calls start, which starts a process. If the control group of this process limits its memory, the kernel
// ends that one, and what it starts, before this one when memory runs out.
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

// kills returns how many processes of the control group of this one the kernel has ended.
func kills() (uint64, error) {
	self, err := procfs.Self()
	if err != nil {
		return 0, err
	}
	groups, err := self.Cgroups()
	if err != nil {
		return 0, err
	}
	mounts, err := self.MountInfo()
	if err != nil {
		return 0, err
	}
	file, err := eventsFile(groups, mounts)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return parseKills(string(text))
}

// eventsFile returns the file of a control group with what happened to its memory. In a version 1 hierarchy the memory
// controller has its own mount.
func eventsFile(groups []procfs.Cgroup, mounts []*procfs.MountInfo) (string, error) {
	const controller = "memory"
	file, fsType := "memory.events", "cgroup2"
	at := slices.IndexFunc(groups, func(g procfs.Cgroup) bool { return slices.Contains(g.Controllers, controller) })
	if at >= 0 {
		file, fsType = "memory.oom_control", "cgroup"
	} else {
		at = slices.IndexFunc(groups, func(g procfs.Cgroup) bool { return g.HierarchyID == 0 })
	}
	if at < 0 {
		return "", fmt.Errorf("no control group with a limit for memory")
	}
	for _, m := range mounts {
		_, v1 := m.SuperOptions[controller]
		// Where a part of the hierarchy is mounted, as in a container, paths may begin above it.
		inside, below := strings.CutPrefix(groups[at].Path, strings.TrimSuffix(m.Root, "/"))
		below = below && (inside == "" || inside[0] == '/')
		if m.FSType == fsType && (v1 || fsType == "cgroup2") && below {
			return path.Join(m.MountPoint, inside, file), nil
		}
	}
	return "", fmt.Errorf("no mount of the control group %s", groups[at].Path)
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
