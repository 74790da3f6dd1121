// Package earlystderr captures the standard error of packages that keep os.Stderr while
// they are initialized. The API server's etcd client does so: it writes its warnings
// there, and has no option to write them elsewhere.
//
// Go initializes packages in the order of their import paths, once their imports are
// initialized. This package imports little and sorts before k8s.io, so it comes first;
// TestEarlyStderrIsInitializedFirst in test/command fails if that changes.
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
		return // without a pipe the warnings are shown, which is harmless
	}
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

// Release gives os.Stderr back to the rest of the program.
func Release() { os.Stderr = original }

// SendTo sends captured lines to f. nil discards them, which is the default.
func SendTo(f func(line string)) {
	if f == nil {
		lineSink.Store(nil)
		return
	}
	lineSink.Store(&f)
}
