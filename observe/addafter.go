package observe

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// addAfterFrame identifies client-go's AddAfter in a stack trace.
var addAfterFrame = []byte("/util/workqueue.(*delayingType[")

// assumedDelay stands for a delay that cannot be read, as far as it matters whether keys are
// delayed at all. It is short because the key may be due soon. Go 1.26 marks the delay as unreliable for keys of several words.
const assumedDelay = time.Second

// errNoAddAfter says that this version of Go or of client-go no longer shows the
// delay in a stack trace.
var errNoAddAfter = errors.New("the stack trace of a delayed key does not show the arguments of client-go's AddAfter")

// delayFromStack returns the delay with which the calling queue adds a key, and
// whether it is known. client-go's metrics report that a key is delayed but not for
// how long. A stack trace prints the arguments of the active functions and marks
// those that may be stale; the delay is the last argument of AddAfter, two frames
// up. The error is errNoAddAfter or nil.
func delayFromStack() (d time.Duration, known bool, err error) {
	buf := stackBuffers.Get().(*[2048]byte)
	defer stackBuffers.Put(buf)
	return parseDelay(buf[:runtime.Stack(buf[:], false)])
}

var stackBuffers = sync.Pool{New: func() any { return new([2048]byte) }}

func parseDelay(trace []byte) (d time.Duration, known bool, err error) {
	_, rest, _ := bytes.Cut(trace, addAfterFrame)
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	_, args, ok := bytes.Cut(line, []byte("]).AddAfter("))
	if !ok || bytes.HasPrefix(args, []byte("...")) { // renamed or inlined
		return 0, false, errNoAddAfter
	}
	last := bytes.TrimSuffix(args[bytes.LastIndexByte(args, ' ')+1:], []byte(")"))
	n, err := strconv.ParseUint(string(last), 0, 64)
	return time.Duration(n), err == nil, nil // what cannot be parsed is marked as stale
}
