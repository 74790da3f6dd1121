//go:build !linux || race || msan || asan

package hugepages

// The race detector and its like keep several bytes for each one that is allocated.
func supported(uint64) bool { return false }

func grow(uint64) span { return span{} }

func (span) advise(bool) {}

func (span) split() {}
