//go:build linux && !race && !msan && !asan

package hugepages

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"unsafe"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"golang.org/x/sys/unix"
)

// arenaSize is the unit in which the runtime reserves addresses for the heap of a 64-bit system.
const arenaSize = 64 << 20

const settings = "/sys/kernel/mm/transparent_hugepage/"

// supported reports whether the advice makes a difference, and the system allows the heap so many bytes more: the
// runtime ends the process otherwise. A limit, or strict accounting of what is reserved, rules it out.
func supported(size uint64) bool {
	return strings.Contains(read(settings+"enabled"), "[madvise]") &&
		read(settings+"hpage_pmd_size") == strconv.Itoa(hugePage) &&
		read("/proc/sys/vm/overcommit_memory") != "2" &&
		!strings.Contains(os.Getenv("GODEBUG"), "disablethp=1") &&
		unlimited(unix.RLIMIT_AS) && unlimited(unix.RLIMIT_DATA) && size <= available()/2
}

// read returns what a file of the kernel says, or nothing if there is none.
func read(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

func unlimited(resource int) bool {
	var limit unix.Rlimit
	err := unix.Getrlimit(resource, &limit)
	return err == nil && limit.Cur == unix.RLIM_INFINITY
}

// available returns the memory of the machine, or what the control group of the process may use of it, in bytes.
func available() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	memory := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // the type depends on the platform
	if limit, err := memlimit.FromCgroup(); err == nil {
		memory = min(memory, limit)
	}
	return memory
}

// grow makes the heap large enough for an object of size bytes, and returns where that was.
func grow(size uint64) span {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or the allocation begins a collection of its own
	var unused strings.Builder                       // unlike make, it leaves memory of the heap as it is
	unused.Grow(int(size))
	start := uintptr(unsafe.Pointer(unsafe.StringData(unused.String())))
	added := span{start, start + uintptr(size)}
	added.advise(true)
	runtime.KeepAlive(&unused)
	runtime.GC() // frees that memory for what is allocated next
	return added
}

// advise has the kernel map s in huge pages, or in small ones, from now on.
func (s span) advise(huge bool) {
	if huge {
		s.madvise(unix.MADV_HUGEPAGE)
		return
	}
	s.madvise(unix.MADV_NOHUGEPAGE)
}

// split ends huge pages of which the heap has returned a part: the kernel would keep the whole page until
// memory is short. That it splits what is only partly mapped is how it implements MADV_COLD.
func (s span) split() { s.madvise(unix.MADV_COLD) }

// advised returns s with what precedes it in its arena: that is heap, too, and what is free of it the runtime uses first.
func (s span) advised() span { return span{s.start &^ (arenaSize - 1), s.end} }

// madvise passes addresses, not a slice: the memory is the heap's, and mostly free. The kernel leaves out what is not
// mapped, and reports an error then.
func (s span) madvise(advice uintptr) {
	all := s.advised()
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, all.start, all.end-all.start, advice)
}
