package observe

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// addAfterFrame is how a traceback names the function that puts a key back for later.
var addAfterFrame = []byte("/util/workqueue.(*delayingType[")

// assumedDelay is taken for a delay that cannot be read: the key may come soon.
// That of keys of several words is marked as uncertain by Go 1.26.
const assumedDelay = time.Second

// delayFromStack is for how long the key is put back whose queue is calling, and whether
// that can be told. client-go tells its metrics that a key is put back, not for
// how long; but a traceback prints the arguments of the functions that are under
// way, and marks those that may be out of date. The delay is the last of
// AddAfter, two frames up.
func delayFromStack() (time.Duration, bool) {
	buf := stackBuffers.Get().(*[2048]byte)
	defer stackBuffers.Put(buf)
	return parseDelay(buf[:runtime.Stack(buf[:], false)])
}

var stackBuffers = sync.Pool{New: func() any { return new([2048]byte) }}

func parseDelay(trace []byte) (time.Duration, bool) {
	_, rest, ok := bytes.Cut(trace, addAfterFrame)
	if !ok {
		return 0, false
	}
	line, _, ok := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return 0, false
	}
	_, args, ok := bytes.Cut(line, []byte("]).AddAfter("))
	if !ok {
		return 0, false
	}
	args, ok = bytes.CutSuffix(args, []byte(")"))
	if !ok {
		return 0, false
	}
	last := args[bytes.LastIndexByte(args, ' ')+1:]
	n, err := strconv.ParseUint(string(last), 0, 64)
	return time.Duration(n), err == nil
}
