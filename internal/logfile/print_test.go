package logfile

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestPrintTail(t *testing.T) {
	long := strings.Repeat("x", 70<<10) + "\n"
	for _, tc := range []struct {
		content string
		tail    int
		want    string
	}{
		{"a\nb\nc\n", -1, "a\nb\nc\n"},
		{"a\nb\nc\n", 2, "b\nc\n"},
		{"a\nb\nc\n", 3, "a\nb\nc\n"},
		{"a\nb\nc\n", 9, "a\nb\nc\n"},
		{"a\nb\nc", 1, "c"},
		{"a\nb\nc\n", 0, ""},
		{"", 3, ""},
		{long + long, 1, long},
	} {
		path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "log"), tc.content)
		var got bytes.Buffer
		if err := Print(t.Context(), &got, path, PrintOptions{Tail: tc.tail}); err != nil || got.String() != tc.want {
			t.Errorf("the last %d of %d bytes: got %d bytes, %v; want %d", tc.tail, len(tc.content), got.Len(), err, len(tc.want))
		}
	}
}

// signalingBuffer reports each write.
type signalingBuffer struct {
	mu      sync.Mutex
	b       strings.Builder
	written chan struct{}
}

func (s *signalingBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Write(p)
	select {
	case s.written <- struct{}{}:
	default:
	}
	return len(p), nil
}

// await waits until the text ends with another one.
func (s *signalingBuffer) await(t *testing.T, suffix string) {
	t.Helper()
	for limit := time.After(time.Minute); ; {
		s.mu.Lock()
		got := s.b.String()
		s.mu.Unlock()
		if strings.HasSuffix(got, suffix) {
			return
		}
		select {
		case <-s.written:
		case <-limit:
			t.Fatalf("got %q, want it to end with %q", got, suffix)
		}
	}
}

// TestPrintFollow checks that nothing is lost or repeated over rotations, and that the end
// of the writer ends it.
func TestPrintFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	r, err := openRotator(path, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	out := &signalingBuffer{written: make(chan struct{}, 1)}
	var ended atomic.Bool
	done := make(chan error)
	go func() {
		done <- Print(context.Background(), out, path, PrintOptions{Tail: -1, Follow: true, Ended: ended.Load})
	}()
	want := ""
	for i := range 30 { // three records fit into a file
		record := fmt.Sprintf("record %023d\n", i)
		if _, err := r.Write([]byte(record)); err != nil {
			t.Fatal(err)
		}
		want += record
		out.await(t, record)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	ended.Store(true)
	if err := <-done; err != nil || out.b.String() != want {
		t.Errorf("got %q, %v", out.b.String(), err)
	}
}

func TestPrintFollowEndsWithContext(t *testing.T) {
	path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "log"), "a\n")
	ctx, cancel := context.WithCancel(t.Context())
	out := &signalingBuffer{written: make(chan struct{}, 1)}
	done := make(chan error)
	go func() {
		done <- Print(ctx, out, path, PrintOptions{Follow: true, Tail: -1, Ended: func() bool { return false }})
	}()
	out.await(t, "a\n")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
