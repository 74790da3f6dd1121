package container

import (
	"crypto/sha256"
	"io"

	"k8s.io/utils/lru"

	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// minCachedBytes is the size of a command from which on its verdict is kept: it is
// needed at each update of a Pod, and to parse a large script takes long.
const minCachedBytes = 1 << 10

// needs are what a command needs and a simulated container does not have.
type needs struct {
	programs []string
	files    []string // that it copies from the image
}

// verdicts are the needs of commands, by the hash of the command.
var verdicts = lru.New(256)

// needsOf returns what a command needs.
func needsOf(args []string) needs {
	size := 0
	for _, arg := range args {
		size += len(arg)
	}
	if size < minCachedBytes {
		return needs{shell.UnknownPrograms(args), shell.ImageFiles(args)}
	}
	hash := sha256.New()
	for _, arg := range args {
		_, _ = io.WriteString(hash, arg) // a hash does not fail
		_, _ = hash.Write([]byte{0})
	}
	key := [sha256.Size]byte(hash.Sum(nil))
	if known, ok := verdicts.Get(key); ok {
		return known.(needs)
	}
	n := needs{shell.UnknownPrograms(args), shell.ImageFiles(args)}
	verdicts.Add(key, n)
	return n
}
