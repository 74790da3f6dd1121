//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

const (
	// roundTimeout bounds a round, and each of the others one wait in it: they are much
	// longer than anything takes on a busy machine.
	roundTimeout = 5 * time.Minute
	readyTimeout = time.Minute
	waitTimeout  = 30 * time.Second
)

// round is one try of a kind in a folder of its own.
type round struct {
	options
	ctx     context.Context
	cancel  context.CancelFunc
	name    string
	dir     string
	rand    *rand.Rand
	kills   int
	cleanup []func() error // in the order in which they were added

	logMu sync.Mutex
	log   *os.File

	processes []*process
}

func (r *round) logf(format string, args ...any) {
	r.writeLog("# " + time.Now().Format("15:04:05.000 ") + fmt.Sprintf(format, args...) + "\n")
}

func (r *round) writeLog(text string) {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	_, _ = r.log.WriteString(text) // a log that cannot be written must not stop the round
}

func (r *round) join(elem ...string) string {
	return filepath.Join(append([]string{r.dir}, elem...)...)
}

// pause waits for a random part of d.
func (r *round) pause(d time.Duration) {
	d = time.Duration(r.rand.Int64N(int64(d)))
	r.logf("after %v", d)
	sleep.For(r.ctx, d)
}

// await polls until ok returns nil; it returns the last error after a timeout.
func (r *round) await(what string, timeout time.Duration, ok func() error) error {
	ctx, cancel := context.WithTimeout(r.ctx, timeout)
	defer cancel()
	for {
		err := ok()
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, 10*time.Millisecond) {
			return fmt.Errorf("no %s within %v: %w", what, timeout, err)
		}
	}
}

// finish ends what the round has started, and removes its folder, or moves it to keep if
// the round is lost. It returns the reason of a loss.
func (r *round) finish(err error, keep string) error {
	for _, p := range r.processes {
		p.kill()
	}
	r.cancel()
	for i := len(r.cleanup) - 1; i >= 0; i-- {
		if cleanupErr := r.cleanup[i](); cleanupErr != nil {
			r.logf("cleanup: %v", cleanupErr)
		}
	}
	if err == nil {
		return errors.Join(r.log.Close(), os.RemoveAll(r.dir))
	}
	r.logf("LOST: %v", err)
	kept := filepath.Join(keep, strings.NewReplacer(" ", "-", "--", "").Replace(r.name)+"-"+time.Now().Format("150405"))
	if keepErr := errors.Join(r.log.Close(), os.MkdirAll(keep, 0o755), moveDir(r.dir, kept)); keepErr != nil {
		return fmt.Errorf("%w (its folder stays at %s: %w)", err, r.dir, keepErr)
	}
	return fmt.Errorf("%w (%s)", err, kept)
}

// moveDir moves a folder, across file systems too.
func moveDir(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.RemoveAll(from)
}
