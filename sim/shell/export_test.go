package shell

// Root returns the Dir with the container's own files.
func (f *FS) Root() *Dir { return f.own }

// Used returns how many bytes a Dir holds, names and metadata included.
func (d *Dir) Used() int64 {
	d.dirState.mu.RLock()
	defer d.dirState.mu.RUnlock()
	return d.used
}
