//go:build !race && !msan && !asan

package hugepages

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// The heap grows into what was reserved, once; with more it grows by as much again.
func TestReserve(t *testing.T) {
	if !isAlone(t) {
		return
	}
	Extend(64 * mib)
	if reserved() != 0 {
		t.Errorf("reserved %d MiB without Reserve", reserved()/mib)
	}
	address(make([]byte, mib/4)) // what precedes the reserved memory may be free, too
	Reserve(64 * mib)
	Extend(32 * mib)
	if reserved() != 64*mib || len(spans) != 1 {
		t.Fatalf("reserved %d MiB in %d parts, want 64 in one", reserved()/mib, len(spans))
	}
	used := make([]byte, 32*mib)
	if at, s := address(used), spans[0].advised(); at < s.start || at >= s.end {
		t.Errorf("the next object is at %x, outside of %x", at, s)
	}
	wantFlag(t, spans[0], "hg")
	Extend(80 * mib)
	if reserved() < 128*mib {
		t.Errorf("reserved %d MiB, want 128", reserved()/mib)
	}
	for _, s := range spans {
		wantFlag(t, s, "hg")
	}
	if used[len(used)-1] != 0 {
		t.Error("memory of the heap is not zero")
	}
}

// Where objects were freed before, the runtime clears what it allocates next, all of it.
func TestReserveTakesNoMemory(t *testing.T) {
	if !isAlone(t) {
		return
	}
	for range 3 {
		for used := make([]byte, 3*mib); len(used) > 0; used = used[1:] {
			used[0] = 1
		}
		runtime.GC()
		all := span{0, ^uintptr(0)}
		before := resident(t, all)
		Reserve(reserved() + 64*mib)
		if after := resident(t, all); after > before+16*1024 {
			t.Errorf("%d KiB are resident, before %d MiB were reserved there were %d", after, reserved()/mib, before)
		}
	}
}

func TestRelease(t *testing.T) {
	if !isAlone(t) {
		return
	}
	Reserve(64 * mib)
	used := make([]byte, 32*mib)
	for i := range used {
		used[i] = 1
	}
	before := resident(t, spans[0].advised())
	runtime.KeepAlive(used)
	Release()
	if after := resident(t, spans[0].advised()); after+30*1024 > before {
		t.Errorf("%d KiB are resident, before the release of 32 MiB there were %d", after, before)
	}
	wantFlag(t, spans[0], "nh")
	Extend(64 * mib)
	wantFlag(t, spans[0], "hg")
	if reserved() != 64*mib {
		t.Errorf("reserved %d MiB, want 64", reserved()/mib)
	}
}

func TestUnion(t *testing.T) {
	for _, tt := range []struct{ spans, want []span }{
		{nil, nil},
		{[]span{{2, 4}}, []span{{2, 4}}},
		{[]span{{6, 9}, {2, 4}}, []span{{2, 4}, {6, 9}}},
		{[]span{{2, 4}, {4, 9}}, []span{{2, 9}}},
		{[]span{{2, 9}, {3, 5}, {8, 12}}, []span{{2, 12}}},
	} {
		if got := union(slices.Clone(tt.spans)); !slices.Equal(got, tt.want) {
			t.Errorf("union of %d: %d, want %d", tt.spans, got, tt.want)
		}
	}
}

// With a limit the heap stays as it is: beyond it the runtime ends the process.
func TestReserveWithALimit(t *testing.T) {
	if !isAlone(t) {
		return
	}
	limit := unix.Rlimit{Cur: addressSpace(t) + 256*mib, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	Reserve(1024 * mib)
	if reserved() != 0 {
		t.Errorf("reserved %d MiB", reserved()/mib)
	}
}

// isAlone runs the test in a process of its own, where no other has used the heap before, and reports whether this is it.
func isAlone(t *testing.T) bool {
	t.Helper()
	if os.Getenv("ALONE") == t.Name() {
		return true
	}
	if !supported(64 * mib) {
		t.Skip("the kernel maps huge pages for all processes, or for none, or memory is limited")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), "ALONE="+t.Name())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v: %s", err, out)
	}
	return false
}

//go:noinline
func address(object []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(object))) }

// addressSpace returns the size of the process in bytes.
func addressSpace(t *testing.T) uint64 {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		t.Fatal(err)
	}
	return pages * uint64(os.Getpagesize())
}

// mapping is an entry of /proc/self/smaps.
type mapping struct {
	start, end uintptr
	resident   int // KiB
	flags      []string
}

// within returns the mappings of s.
func within(t *testing.T, s span) (found []mapping) {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var m mapping
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		switch name, value, _ := strings.Cut(line, ":"); {
		case name == "Rss":
			if _, err := fmt.Sscan(value, &m.resident); err != nil {
				t.Fatal(err)
			}
		case name == "VmFlags":
			m.flags = strings.Fields(value)
			if m.start < s.end && m.end > s.start {
				found = append(found, m)
			}
		case strings.Contains(strings.Fields(line)[0], "-"):
			if _, err := fmt.Sscanf(line, "%x-%x", &m.start, &m.end); err != nil {
				t.Fatal(err)
			}
		}
	}
	return found
}

func wantFlag(t *testing.T, s span, flag string) {
	t.Helper()
	mappings := within(t, s)
	if len(mappings) == 0 {
		t.Errorf("%x is not mapped", s)
	}
	for _, m := range mappings {
		if !slices.Contains(m.flags, flag) {
			t.Errorf("%x-%x has flags %q, want %s", m.start, m.end, m.flags, flag)
		}
	}
}

// resident returns how much of s is in memory, in KiB.
func resident(t *testing.T, s span) (sum int) {
	t.Helper()
	for _, m := range within(t, s) {
		sum += m.resident
	}
	return sum
}
