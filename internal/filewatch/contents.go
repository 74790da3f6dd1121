package filewatch

import (
	"crypto/sha256"
	"os"

	"github.com/ctrlplane/ctrlplane/internal/limitread"
)

const (
	maxKnownFiles = 50_000
	maxKnownBytes = 4 << 20 // of a file; a longer one counts as changed with each event
)

// contents remembers what is in files, because generators write files again that stay the
// same. It is not safe for concurrent use.
type contents map[string][sha256.Size]byte

// changed reports whether a file has other content than the known one. It has no sum if it
// cannot be read, such as after its removal: that is a change.
func (c contents) changed(path string) (sum *[sha256.Size]byte, changed bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, true
	}
	data, err := limitread.File(path, maxKnownBytes)
	if err != nil {
		return nil, true
	}
	now := sha256.Sum256(data)
	before, known := c[path]
	return &now, !known || before != now
}

// learn makes a sum the known one; nil = unknown.
func (c contents) learn(path string, sum *[sha256.Size]byte) {
	if sum == nil {
		delete(c, path)
		return
	}
	if _, known := c[path]; known || len(c) < maxKnownFiles {
		c[path] = *sum
	}
}
