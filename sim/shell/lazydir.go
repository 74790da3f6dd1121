package shell

import (
	"sync"
	"sync/atomic"
)

// lazy fills a Dir at its first use.
type lazy struct {
	filled atomic.Bool

	mu   sync.Mutex
	fill func() error // nil once it has succeeded
}

// FillOnUse makes fill run before a path first leads into a mount of the Dir. Whoever
// uses the Dir gets an input/output error if it fails, and the next use tries again.
// It is called before the Dir is mounted; fill uses the Dir itself.
func (d *Dir) FillOnUse(fill func() error) { d.lazy = &lazy{fill: fill} }

// Filled reports whether the Dir has its content. It does not wait while that is being made, which
// may need locks that the caller holds.
func (d *Dir) Filled() bool { return d.lazy == nil || d.lazy.filled.Load() }

// Fill makes the content of the Dir now.
func (d *Dir) Fill() error {
	if d.lazy == nil {
		return nil
	}
	d.lazy.mu.Lock()
	defer d.lazy.mu.Unlock()
	if d.lazy.fill == nil {
		return nil
	}
	if err := d.lazy.fill(); err != nil {
		return err
	}
	d.lazy.fill = nil
	d.lazy.filled.Store(true)
	return nil
}
