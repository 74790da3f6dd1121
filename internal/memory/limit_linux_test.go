package memory

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/controlgroup"
)

func TestSumFields(t *testing.T) {
	const stat = "cache 99\nrss 7\ntotal_rss 4096\ntotal_shmem 8192\ntotal_rss_huge 5\n"
	if got := sumFields([]byte(stat), fieldsV1); got != 12288 {
		t.Errorf("got %d", got)
	}
	if got := sumFields([]byte("anon 5\nfile 6\nshmem 7\n"), fieldsV2); got != 12 {
		t.Errorf("got %d", got)
	}
}

// In a group with 512 MiB the limit becomes lower while another process of the group uses some of that, and higher afterwards.
func TestLimitFollowsOtherProcesses(t *testing.T) {
	const mib, used = 1 << 20, 200
	switch os.Getenv("TEST_MEMORY") {
	case "limited":
		limitIsFollowed(t, used)
		return
	case "used":
		// The kernel fills it: what a program writes takes several times as much under the race detector.
		if _, err := syscall.Mmap(-1, 0, used*mib, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_POPULATE); err != nil {
			t.Fatal(err)
		}
		fmt.Println("in use")
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the other process has seen that
		return
	}
	group, err := controlgroup.New(512 * mib)
	if err != nil {
		t.Skipf("no control group with limited memory can be made here: %v", err)
	}
	defer func() {
		if err := group.Remove(); err != nil {
			t.Error(err)
		}
	}()
	cmd := again(t, "limited")
	if err := group.Enter(cmd); err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// again returns the same test in a process of its own.
func again(t *testing.T, role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), "TEST_MEMORY="+role)
	return cmd
}

func limitIsFollowed(t *testing.T, used int64) {
	const mib = 1 << 20
	const tolerance = 8 // the kernel counts what a group and a process use in batches, one for each processor
	limit := func() int64 { return debug.SetMemoryLimit(-1) / mib }
	restore := limitHeap()
	alone := limit()
	if alone < 400 || alone > 416 {
		t.Errorf("alone: %d MiB, want 416 less what the shell uses", alone)
	}
	other := again(t, "used")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end := sync.OnceValue(func() error { return errors.Join(in.Close(), other.Wait()) })
	defer func() { _ = end() }() // if it has not been called: else the group cannot be removed
	testutil.Await(t, "a lower limit while another process uses memory", func() bool { return limit() <= alone-used+tolerance })
	if err := end(); err != nil {
		t.Error(err)
	}
	testutil.Await(t, "the limit as before once that has ended", func() bool { return limit() >= alone-tolerance })
	restore()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("restored: %d", got)
	}
	l := &limiter{memory: 512 * mib, others: func() uint64 { return 0 }, set: debug.SetMemoryLimit(-1)}
	debug.SetMemoryLimit(300 * mib) // as another part of the process may do
	l.follow(nil)                   // ends with that
	if limit() != 300 {
		t.Errorf("a limit that was set elsewhere has become %d MiB", limit())
	}
}
