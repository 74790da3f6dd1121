// Package earlystderr takes the standard error away from packages that take
// hold of it while they are initialised. The API server's etcd client does so:
// it writes its warnings there, and has no option to write them elsewhere.
//
// Go initialises packages in the order of their import paths, once what they
// import is ready. This one imports little and sorts before k8s.io, so it comes
// first; TestEarlyStderrIsInitializedFirst fails if that ever changes.
package earlystderr

import (
	"bufio"
	"os"
	"sync/atomic"
)

var (
	original = os.Stderr
	lineSink atomic.Pointer[func(line string)]
)

func init() {
	r, w, err := os.Pipe()
	if err != nil {
		return // then what they say is seen: no harm is worth failing for
	}
	os.Stderr = w
	go forward(r)
}

// forward reads for ever: a writer must never wait.
func forward(r *os.File) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if f := lineSink.Load(); f != nil && line != "" {
			(*f)(line)
		}
		if err != nil {
			return
		}
	}
}

// Release gives the standard error back to everybody else.
func Release() { os.Stderr = original }

// SendTo sends what was taken away to f, a line at a time; nil drops it, as before
// the first call.
func SendTo(f func(line string)) {
	if f == nil {
		lineSink.Store(nil)
		return
	}
	lineSink.Store(&f)
}
