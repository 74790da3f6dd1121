package procstat

import (
	"os"
	"os/exec"
	"testing"
)

func TestExists(t *testing.T) {
	if !Exists(os.Getpid()) || Exists(0) {
		t.Error("want this process and none with the id 0")
	}
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if Exists(ended.Process.Pid) {
		t.Error("a process that has ended exists")
	}
}
