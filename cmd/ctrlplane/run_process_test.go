package main

import (
	"io/fs"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestStartErrorAdvises(t *testing.T) {
	for err, want := range map[error]string{
		exec.ErrNotFound: "give its path, or add its folder to PATH",
		syscall.EACCES:   "name an executable file",
		syscall.EAGAIN:   "raise the limit of processes: ulimit -u, or pids.max of the control group",
		syscall.EMFILE:   "raise the limit of open files: ulimit -n",
		syscall.ENOMEM:   "free memory, or raise its limit: ulimit -v, or that of the control group",
		syscall.E2BIG:    "check that it can be executed",
	} {
		got := newStartError("test", &fs.PathError{Op: "fork/exec", Path: "/bin/test", Err: err})
		if !strings.HasSuffix(got.Error(), ": "+want) {
			t.Errorf("%v: %v, want the advice %q", err, got, want)
		}
	}
}
