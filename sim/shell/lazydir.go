package shell

import "sync"

// lazy fills a Dir at its first use.
type lazy struct {
	mu   sync.Mutex
	fill func() error // nil once it has succeeded
}

// FillOnUse makes fill run before a path first leads into a mount of the Dir. Whoever
// uses the Dir gets an input/output error if it fails, and the next use tries again.
// It is called before the Dir is mounted; fill uses the Dir itself.
func (d *Dir) FillOnUse(fill func() error) { d.lazy = &lazy{fill: fill} }

// Filled reports whether the Dir has its content.
func (d *Dir) Filled() bool {
	if d.lazy == nil {
		return true
	}
	d.lazy.mu.Lock()
	defer d.lazy.mu.Unlock()
	return d.lazy.fill == nil
}

func (d *Dir) fill() error {
	if d.lazy == nil {
		return nil
	}
	d.lazy.mu.Lock()
	defer d.lazy.mu.Unlock()
	if d.lazy.fill == nil {
		return nil
	}
	err := d.lazy.fill()
	if err == nil {
		d.lazy.fill = nil
	}
	return err
}
