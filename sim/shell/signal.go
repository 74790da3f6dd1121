package shell

import (
	"strconv"
	"strings"
	"syscall"
)

// signalNames are the signals of Linux by number, whatever system this runs on.
var signalNames = []string{
	"EXIT", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
	"STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
}

// harmless are the signals that do nothing without a trap. Stopping a process is
// not simulated.
var harmless = signalBits("CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH")

func signalBits(names ...string) (set signalSet) {
	for _, name := range names {
		n, _ := parseSignal(name)
		set |= 1 << uint(n)
	}
	return set
}

// parseSignal understands a number or a name, with or without SIG.
func parseSignal(s string) (syscall.Signal, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return syscall.Signal(n), n >= 0 && n < len(signalNames)
	}
	s = strings.TrimPrefix(strings.ToUpper(s), "SIG")
	for n, name := range signalNames {
		if s == name {
			return syscall.Signal(n), true
		}
	}
	return 0, false
}
