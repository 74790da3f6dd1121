//go:build linux && !race && !msan && !asan

package hugepages

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// arenaSize is the unit in which the runtime reserves addresses for the heap of a 64-bit system: what
// precedes an object in its arena is heap, too.
const arenaSize = 64 << 20

// supported reports whether the advice makes a difference.
func supported() bool {
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && strings.Contains(string(enabled), "[madvise]")
}

// grow makes the heap larger by size bytes, or by none if the system would not allow that: the runtime
// ends the process then.
func grow(size uint64) uint64 {
	allowed, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0
	}
	if err := unix.Munmap(allowed); err != nil {
		return 0
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // or the allocation begins a collection of its own
	unused := make([]byte, size)
	start := uintptr(unsafe.Pointer(unsafe.SliceData(unused)))
	added := span{start &^ (arenaSize - 1), start + uintptr(size)}
	spans = append(spans, added)
	added.advise(true)
	runtime.KeepAlive(unused)
	runtime.GC() // frees that memory for what is allocated next
	return size
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

// madvise passes addresses, not a slice: the memory is the heap's, and mostly free. The kernel leaves out
// what is not mapped, and reports an error then.
func (s span) madvise(advice uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, s.start, s.end-s.start, advice)
}
