package asinit

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
)

const (
	initPID    = 1
	exitSignal = 128 // plus the number of a signal, as shells do
)

func init() {
	if os.Getpid() != initPID {
		return
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(endsignals.List(), syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2)...)
	child, err := startAgain()
	if err != nil { // such as without /proc: the program works as init, too
		signal.Reset()
		return
	}
	go func() {
		for sig := range signals {
			_ = syscall.Kill(child, sig.(syscall.Signal)) // it may have ended
		}
	}()
	os.Exit(reapUntilEnd(child))
}

// startAgain starts the program as a child in the same process group: signals of a terminal reach both, and as
// before nothing can suspend them with Ctrl-Z. No child outlives the init process.
func startAgain() (pid int, err error) {
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	return syscall.ForkExec(program, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2}})
}

// reapUntilEnd reaps all children until the given one has ended, and returns its exit code.
func reapUntilEnd(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR || err == nil && pid != child:
		case err != nil: // not while there is a child
			return 1
		case status.Signaled():
			return exitSignal + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}
