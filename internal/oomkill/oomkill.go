// Package oomkill tells of processes that the kernel kills because memory has run out, and chooses which it kills
// first. It does nothing on systems without control groups.
package oomkill

import (
	"fmt"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Counter counts the processes that the kernel has killed since New. The zero value counts none.
type Counter struct {
	read   func() (uint64, error) // nil = the kernel does not count
	before uint64
}

// New returns a counter for the control group of this process.
func New() Counter { return newCounter(kills) }

func newCounter(read func() (uint64, error)) Counter {
	before, err := read()
	if err != nil {
		return Counter{}
	}
	return Counter{read, before}
}

// Any reports whether the kernel has killed a process of the control group.
func (c Counter) Any() bool {
	if c.read == nil {
		return false
	}
	n, err := c.read()
	return err == nil && n > c.before
}

// Cause says in a few words what has run out.
func Cause() string {
	limit, err := memlimit.FromCgroup()
	if err != nil { // it has none of its own
		return "memory ran out"
	}
	return fmt.Sprintf("the limit of %s for memory was reached", words.Size(int64(limit)))
}
