package chromium

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Shared is a browser for the tests of a package: a window costs a tenth of what a browser
// does. The first window starts it.
type Shared struct {
	once         sync.Once
	dir          string
	ctx          context.Context
	closeBrowser func() error
	err          error
}

// Open opens an empty page in a window, with cookies and storage of its own. It closes with
// the test.
func (s *Shared) Open(t *testing.T) context.Context {
	t.Helper()
	path := Find(t)
	s.once.Do(func() { s.start(path) })
	if s.err != nil {
		t.Fatalf("starting the browser: %v", s.err)
	}
	ctx, cancel := chromedp.NewContext(s.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	t.Cleanup(func() {
		if err := closeContext(ctx); err != nil {
			t.Logf("closing the window: %v", err) // the browser's end closes it
		}
	})
	if err := chromedp.Do(ctx, keepFocus); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// keepFocus lets a page have the focus while other windows do, too.
var keepFocus = chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
	_, err := cdp.Call(ctx, target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	return err
})

func (s *Shared) start(path string) {
	if s.dir, s.err = os.MkdirTemp("", "chromium-"); s.err != nil {
		return
	}
	s.ctx, s.closeBrowser, s.err = launch(path, s.dir, 1280, 720)
}

// Close ends the browser if it was started.
func (s *Shared) Close() error {
	var err error
	if s.closeBrowser != nil {
		err = s.closeBrowser()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
	return err
}
