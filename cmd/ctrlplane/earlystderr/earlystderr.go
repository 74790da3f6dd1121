// Package earlystderr keeps other packages from writing to the screen while a control
// plane is served: it captures the standard error. Some packages keep os.Stderr while they
// are initialized: the API server's etcd client writes its warnings there, and has no
// option to write them elsewhere. Others read it later: the API server's HTTP server, and
// Go's standard logger, which reverse proxies use.
//
// Go initializes packages in the order of their import paths, once their imports are
// initialized. This package imports little and sorts before k8s.io, so it comes first;
// TestInitializationOrder in test/command fails if that changes.
package earlystderr

import (
	"bufio"
	"log"
	"os"
	"sync/atomic"
)

var (
	original = os.Stderr
	captured *os.File // what is written here is passed on; nil without a pipe
	lineSink atomic.Pointer[func(line string)]
)

func init() {
	r, w, err := os.Pipe()
	if err != nil {
		return // without a pipe the warnings are shown, which is harmless
	}
	captured = w
	os.Stderr = w
	go forwardLines(r)
}

// forwardLines reads until the process exits, so that a writer never blocks.
func forwardLines(r *os.File) {
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

// Original returns the standard error of the process, which Capture does not change.
func Original() *os.File { return original }

// Release gives os.Stderr back to the rest of the program. Packages that were initialized
// before keep the captured one; what they write is discarded.
func Release() {
	lineSink.Store(nil)
	os.Stderr = original
	log.SetOutput(original)
}

// Capture sends to f each line that is written to os.Stderr, by the standard logger, or by
// packages that have kept os.Stderr, until Release. Nothing else may use os.Stderr when it
// is called.
func Capture(f func(line string)) {
	lineSink.Store(&f)
	if captured != nil {
		os.Stderr = captured
		log.SetOutput(captured)
	}
}
