package replay

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxBuffer is how many bytes of lines a Buffer keeps: some minutes of a busy control
// plane, hours of an idle one.
const maxBuffer = 16 << 20

// Buffer keeps the newest snapshots of a source in memory. It is safe for concurrent use.
type Buffer struct {
	mu      sync.Mutex
	state   encoder
	groups  [][]byte // of lines, each group begins with a whole snapshot
	size    int
	maximum int // 0 = maxBuffer
}

// Add keeps a snapshot.
func (b *Buffer) Add(s observe.Snapshot) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	line := b.state.encode(s)
	if line == nil {
		return nil
	}
	data, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, whole := line.(snapshotLine); whole {
		b.groups = append(b.groups, nil)
	}
	last := &b.groups[len(b.groups)-1]
	*last = append(append(*last, data...), '\n')
	b.size += len(data) + 1
	limit := b.maximum
	if limit == 0 {
		limit = maxBuffer
	}
	if b.size-len(*last) > 0 && b.size > limit {
		b.size -= len(b.groups[0])
		b.groups = slices.Delete(b.groups, 0, 1)
	}
	if len(*last) > limit/4 {
		b.state.restart() // so that not all is dropped at once
	}
	return nil
}

// Clear forgets all snapshots, for example because another process is observed.
func (b *Buffer) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state.restart()
	b.groups, b.size = nil, 0
}

// Lines returns the lines of the snapshots.
func (b *Buffer) Lines() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Join(b.groups, nil)
}

// Recording returns the snapshots with the records of their source.
func (b *Buffer) Recording(records []observe.Record) (*Recording, error) {
	d := decoder{recording: Recording{records: slices.Clone(records)}}
	for line := range bytes.Lines(b.Lines()) {
		if err := d.add(line); err != nil {
			return nil, err
		}
	}
	return d.finish()
}
