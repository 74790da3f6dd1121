// Package chromium starts the headless browser of the tests of several packages, which may
// run at the same time.
package chromium

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// names are those that Chromium has.
var names = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// environ has the variables that Chromium sets in its own process if they are missing: the
// second one from a thread of its pool, while another thread connects to D-Bus and so reads
// the environment. If setting it moves the list of the variables, which depends on how many
// there are, the reader crashes. A variable that exists is replaced in place.
var environ = []string{"DBUS_SESSION_BUS_ADDRESS=disabled:", "FC_FONTATIONS=1"}

// closeTimeout is how long a browser may take to end.
const closeTimeout = time.Minute

// Find returns the path of the browser, or skips the test.
func Find(t *testing.T) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("no browser in PATH (%s)", strings.Join(names, ", "))
	return ""
}

// Start starts a browser with an empty page of the given size. It ends with the test.
func Start(t *testing.T, width, height int) context.Context {
	t.Helper()
	ctx, closeBrowser, err := launch(Find(t), t.TempDir(), width, height)
	t.Cleanup(func() {
		if err := closeBrowser(); err != nil {
			t.Errorf("closing the browser: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// launch starts a browser that keeps its files in dir. closeBrowser ends it, also if it could
// not be started.
func launch(path, dir string, width, height int) (ctx context.Context, closeBrowser func() error, err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Env(environ...), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WindowSize(width, height),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	// Not the context of a test, which ends before its cleanup: a browser that is killed
	// leaves folders and processes behind.
	allocator, cancelAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	closeBrowser = func() error {
		defer cancelAllocator()
		defer cancel()
		return closeContext(ctx)
	}
	return ctx, closeBrowser, chromedp.Do(ctx) // starts the browser, which ends with this context
}

// closeContext ends the browser that a context has started, or closes the window that it has
// opened in one.
func closeContext(ctx context.Context) error {
	closing, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	return chromedp.Cancel(closing)
}
