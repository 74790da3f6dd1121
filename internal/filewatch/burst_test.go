package filewatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// startCollect runs collect until the test ends. The files a and b existed before.
func startCollect(t *testing.T) (chan<- string, <-chan []string) {
	stop, ended := make(chan struct{}), make(chan struct{})
	paths, out := make(chan string), make(chan []string)
	go func() {
		defer close(ended)
		collect(stop, paths, nil, out, defaultQuiet, contents{"a": {}, "b": {}})
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
	return paths, out
}

func TestCollectWaitsUntilItIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paths, out := startCollect(t)
		began := time.Now()
		for _, p := range []string{"b", "a", "b"} {
			paths <- p
			time.Sleep(defaultQuiet - time.Millisecond)
		}
		got := <-out
		if !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %v, want each path once, sorted", got)
		}
		if took, want := time.Since(began), 2*(defaultQuiet-time.Millisecond)+defaultQuiet; took != want {
			t.Errorf("sent after %v, want %v", took, want)
		}
	})
}

// TestCollectDoesNotWaitForever changes a file without a pause.
func TestCollectDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paths, out := startCollect(t)
		began := time.Now()
		for {
			select {
			case <-out:
				if took := time.Since(began); took > maxDelay+defaultQuiet {
					t.Errorf("sent after %v, want at most %v", took, maxDelay)
				}
				return
			case paths <- "a":
				time.Sleep(defaultQuiet / 2)
			}
			synctest.Wait()
			if time.Since(began) > maxDelay {
				paths = nil // select would choose any of two that are ready
			}
		}
	})
}

// TestCollectKeepsWhatIsNotReceived has a receiver that is busy.
func TestCollectKeepsWhatIsNotReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paths, out := startCollect(t)
		paths <- "a"
		time.Sleep(time.Minute)
		paths <- "b"
		time.Sleep(time.Minute)
		if got := <-out; !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("got %v, want both", got)
		}
		select {
		case again := <-out:
			t.Errorf("sent again: %v", again)
		case <-time.After(time.Minute):
		}
	})
}

// TestCollectTemporaryFiles has a file that is gone once it is quiet, as tools write one next to a file that they read.
func TestCollectTemporaryFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paths, out := startCollect(t)
		for _, path := range []string{"temporary", "a"} {
			paths <- path
			time.Sleep(time.Minute)
		}
		if got := <-out; !slices.Equal(got, []string{"a"}) {
			t.Errorf("got %v, want what was removed", got)
		}
	})
}
