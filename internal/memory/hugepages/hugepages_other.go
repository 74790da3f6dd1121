//go:build !linux || race || msan || asan

package hugepages

// The race detector and its like keep several bytes for each one that is allocated.
func supported() bool { return false }

func grow(uint64) uint64 { return 0 }

func (span) advise(bool) {}

func (span) split() {}
