// Package browser_test opens the pages of reports and traces in a headless browser and
// uses them. Its tests are skipped where there is no Chromium.
package browser_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/tools/internal/chromium"
)

// shared is the browser in which each test has a window.
var shared chromium.Shared

// pagesDir is where writePages writes. TestMain sets it before any test runs.
var pagesDir string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	var err error
	if pagesDir, err = os.MkdirTemp("", "browser-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(pagesDir)
	code := m.Run()
	if err := shared.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "closing the browser:", err)
		return 1
	}
	return code
}

// writePages writes the pages of TestWriteBrowserPages in ui/report and observe/trace.
var writePages = sync.OnceValue(func() error {
	cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-run=^TestWriteBrowserPages$", "./ui/report", "./observe/trace", "-pages="+pagesDir)
	cmd.Dir = filepath.Join("..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// browser is a tab of a headless browser that shows a page.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	requests []string
	problems []string // messages on the console and uncaught exceptions
	expected string   // a message that is no problem
	ended    bool     // what is reported from now on is about a server that ends
}

// openPage opens one of the pages in a window of the given size. The test fails if
// the page requests anything else or reports a problem.
func openPage(t *testing.T, name string, width, height int) *browser {
	t.Helper()
	chromium.Find(t)
	if err := writePages(); err != nil {
		t.Fatal(err)
	}
	page := (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(pagesDir, name+".html"))}).String()
	b := openBrowser(t, width, height)
	b.do(chromedp.Navigate(page))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.requests) != 1 || b.requests[0] != page {
			t.Errorf("requests: %q, want only %q", b.requests, page)
		}
	})
	return b
}

// openBrowser opens an empty page in a window of the given size. The test fails if a page
// reports a problem.
func openBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	return newBrowser(t, shared.Open(t), width, height)
}

func newBrowser(t *testing.T, window context.Context, width, height int) *browser {
	t.Helper()
	b := &browser{t: t}
	var cancel context.CancelFunc
	b.Context, cancel = context.WithTimeout(window, 5*time.Minute)
	t.Cleanup(cancel)
	b.do(runCommand(network.Enable, network.EnableParams{}), runCommand(log.Enable, struct{}{}), chromedp.EmulateViewport(int64(width), int64(height)))
	if err := chromedp.Listen(b, b.recordEvent); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.problems) > 0 {
			t.Errorf("the browser reports problems: %q", b.problems)
		}
	})
	return b
}

// runCommand returns the action that runs a command of the DevTools protocol and
// ignores its result.
func runCommand[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *browser) recordEvent(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			b.requests = append(b.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.problems = append(b.problems, string(e.Type))
	case *log.EventEntryAdded:
		if b.expected == "" || !strings.Contains(e.Entry.Text, b.expected) {
			b.problems = append(b.problems, e.Entry.Text)
		}
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// runScript returns the action that evaluates a script and waits for its promise.
func runScript(js string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](js, chromedp.EvalAwaitPromise)
}

// framesDrawn resolves when two frames have been drawn.
const framesDrawn = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`

// evaluate returns the value of an expression once the page has been drawn.
func evaluate[T any](b *browser, js string) T {
	b.t.Helper()
	b.do(runScript(framesDrawn))
	v, err := chromedp.Run(b, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v: %s", err, js)
	}
	return v
}

// shownMillis returns how much time the timeline shows.
func (b *browser) shownMillis() float64 {
	b.t.Helper()
	return evaluate[float64](b, `(({from, to}) => to - from)(document.getElementById("range").dataset)`)
}

// recordCount returns how many records the page lists.
func (b *browser) recordCount() int {
	b.t.Helper()
	return evaluate[int](b, `Number(document.getElementById("records-count").dataset.records)`)
}

// saveScreenshot saves a picture if REPORT_PICTURES names a folder.
func (b *browser) saveScreenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("REPORT_PICTURES")
	if dir == "" {
		return
	}
	b.do(runScript(framesDrawn))
	png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	testutil.WriteFile(b.t, filepath.Join(dir, name+".png"), png)
}

func TestPageSearchAndZoom(t *testing.T) {
	t.Parallel()
	b := openPage(t, "failed-3000", 1280, 900)
	b.saveScreenshot("wide")

	all := b.recordCount()
	if want := evaluate[int](b, `JSON.parse(document.getElementById("data").textContent).marks.length`); all != want || all < 3000 {
		t.Errorf("%d records are listed, the page has %d", all, want)
	}
	if lit := evaluate[int](b, countPixels("lanes")); lit < 1000 {
		t.Errorf("%d pixels of the timeline are drawn", lit)
	}
	if lit := evaluate[int](b, countPixels("depths")); lit < 1000 {
		t.Errorf("%d pixels of the queues are drawn", lit)
	}

	// The search filters every table.
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "deployment conflict"))
	matching := b.recordCount()
	if matching == 0 || matching >= all {
		t.Errorf("%d of %d records match", matching, all)
	}
	if other := evaluate[int](b, `[...document.querySelectorAll("section tbody tr")].filter((row) => row.offsetParent && !(/deployment/i.test(row.textContent) && /conflict|modified/i.test(row.textContent))).length`); other > 0 {
		t.Errorf("%d rows that do not match are shown", other)
	}
	b.saveScreenshot("search")
	b.do(runScript(`(() => { const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input")); })()`))
	if got := b.recordCount(); got != all {
		t.Errorf("%d records after the search, want %d", got, all)
	}

	// The zoom changes the time span by button, key and mouse, and with it the records.
	whole := b.shownMillis()
	b.do(chromedp.Click(chromedp.CSS(`[data-zoom="in"]`)))
	if got := b.shownMillis(); got > whole*0.51 || got < whole*0.49 {
		t.Errorf("after the + button %g ms are shown, want half of %g", got, whole)
	}
	if got := b.recordCount(); got >= all || got == 0 {
		t.Errorf("%d records in half of the time, %d in all", got, all)
	}
	b.do(chromedp.Focus(chromedp.CSS("#scroll")), chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.ArrowRight))
	if got := b.shownMillis(); got > whole*0.26 {
		t.Errorf("after the + key %g ms of %g are shown", got, whole)
	}
	b.do(chromedp.KeyEvent("n"))
	if chosen := evaluate[string](b, `document.getElementById("details").textContent`); !strings.Contains(chosen, "Controller") {
		t.Errorf("the key N shows %q", chosen)
	}
	b.saveScreenshot("zoom")
	b.do(chromedp.KeyEvent("0"))
	if got := b.shownMillis(); got != whole {
		t.Errorf("after the 0 key %g ms are shown, want %g", got, whole)
	}
	b.do(runScript(`document.getElementById("lanes").dispatchEvent(new WheelEvent("wheel", {ctrlKey: true, deltaY: -200, cancelable: true}))`))
	if got := b.shownMillis(); got > whole*0.51 {
		t.Errorf("after the wheel %g ms of %g are shown", got, whole)
	}
	b.do(chromedp.Click(chromedp.CSS(`#slow button.go`)))
	if got := b.shownMillis(); got >= whole {
		t.Errorf("%g ms are shown around the slowest sync, want less than all", got)
	}

	if title := evaluate[string](b, `document.title`); strings.HasPrefix(title, "broken") {
		t.Error("the page ran a script in a name")
	}
}

// countPixels returns the script that counts the pixels of a canvas that are not empty.
func countPixels(id string) string {
	return fmt.Sprintf(`(() => { const c = document.getElementById(%q); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()`, id)
}

func TestPageOnSmallScreen(t *testing.T) {
	t.Parallel()
	b := openPage(t, "failed-800", 400, 800)
	b.saveScreenshot("narrow")
	if over := evaluate[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("the page is %d pixels wider than the screen", over)
	}
	// Nothing has to be scrolled sideways to be read, either.
	if wide := evaluate[string](b, `[...document.querySelectorAll("section .table, section .scroll")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.closest("section").id).join(" ")`); wide != "" {
		t.Errorf("tables that are wider than the screen in: %s", wide)
	}
	if small := evaluate[int](b, `[...document.querySelectorAll("section tbody td")].filter((e) => e.offsetParent && parseFloat(getComputedStyle(e).fontSize) < 12).length`); small > 0 {
		t.Errorf("%d cells have a font smaller than 12 pixels", small)
	}
	b.do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	if bg := evaluate[string](b, `getComputedStyle(document.body).backgroundColor`); bg != "rgb(17, 21, 27)" {
		t.Errorf("in the dark theme the page is %s", bg)
	}
	b.saveScreenshot("narrow-dark")
}

// TestPageTablesFit has no table that must be scrolled sideways in a window of the usual width.
func TestPageTablesFit(t *testing.T) {
	t.Parallel()
	b := openPage(t, "failed-800", 1280, 900)
	if n := b.recordCount(); n == 0 {
		t.Fatal("no records")
	}
	if wide := evaluate[string](b, wideTables); wide != "" {
		t.Errorf("tables that are wider than their box in: %s", wide)
	}
}

// wideTables names the sections with a table that is wider than its box.
const wideTables = `[...document.querySelectorAll("section .table")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.closest("section").id).join(" ")`

// TestPageOnPaper has no table of which a part is hidden, as it can be scrolled on the screen.
func TestPageOnPaper(t *testing.T) {
	t.Parallel()
	for _, width := range []int{400, 1280} {
		b := openPage(t, "failed-3000", width, 900)
		const hidden = `[...document.querySelectorAll("section .table")].filter((e) => e.scrollHeight > e.clientHeight + 1).length`
		if n := evaluate[int](b, hidden); n == 0 {
			t.Fatal("no table is higher than its box on the screen")
		}
		b.do(runCommand(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"}))
		if n := evaluate[int](b, hidden); n != 0 {
			t.Errorf("%d pixels: %d tables are higher than their box", width, n)
		}
		if wide := evaluate[string](b, wideTables); wide != "" {
			t.Errorf("%d pixels: tables that are wider than their box in: %s", width, wide)
		}
	}
}

// TestPageWithoutJavaScript shows nothing that does not work then.
func TestPageWithoutJavaScript(t *testing.T) {
	t.Parallel()
	b := openBrowser(t, 1280, 900)
	b.do(runCommand(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	if err := writePages(); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate((&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(pagesDir, "failed-800.html"))}).String()))
	const shown = `[...document.querySelectorAll("input, canvas, button:not(.go), #records")].filter((e) => e.offsetParent).map((e) => e.id || e.textContent).join(" ")`
	got, err := chromedp.Run(b, chromedp.Evaluate[string](shown))
	if err != nil || got != "" {
		t.Errorf("shown: %q, %v", got, err)
	}
}

// TestPageWithManyRecords opens a page with as many records as an observer keeps.
func TestPageWithManyRecords(t *testing.T) {
	t.Parallel()
	b := openPage(t, "failed-16384", 1280, 900)
	b.do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	b.saveScreenshot("many-dark")
	took := evaluate[float64](b, `(async () => {
		const began = performance.now();
		for (let i = 0; i < 10; i++) {
			document.querySelector('[data-zoom="in"]').click();
			await new Promise(requestAnimationFrame);
		}
		return (performance.now() - began) / 10;
	})()`)
	t.Logf("%.1f ms a frame", took)
}

// TestPageShowsOutputOnTimeline opens the page of a run that passed, in which everything
// that failed was retried.
func TestPageShowsOutputOnTimeline(t *testing.T) {
	t.Parallel()
	b := openPage(t, "passed", 400, 800)
	b.saveScreenshot("passed-narrow")
	if lane := evaluate[string](b, `JSON.parse(document.getElementById("data").textContent).lanes[0]`); lane != "command output" {
		t.Errorf("the first lane is %q", lane)
	}
	whole := b.shownMillis()
	b.do(chromedp.Click(chromedp.CSS(`#output tbody tr:nth-child(2) button.go`)))
	if got := b.shownMillis(); got >= whole {
		t.Errorf("%g ms are shown around a line of output, want less than all", got)
	}
	if text := evaluate[string](b, `document.getElementById("records-body").textContent`); !strings.Contains(text, "second line") {
		t.Errorf("the records around the second line are %q", text)
	}
	const red = `["rgb(192, 47, 55)", "rgb(244, 127, 125)"]`
	if text := evaluate[string](b, `[...document.querySelectorAll("main *, header *")].filter((e) => e.offsetParent && e.childElementCount === 0 && e.textContent.trim() && `+red+`.includes(getComputedStyle(e).color)).map((e) => e.textContent).join("; ")`); text != "" {
		t.Errorf("shown in red: %s", text)
	}
	if n := evaluate[int](b, redPixels("lanes")); n > 0 {
		t.Errorf("%d pixels of the timeline are red", n)
	}
}

// redPixels returns the script that counts the pixels of a canvas that are as red as a
// failure.
func redPixels(id string) string {
	return fmt.Sprintf(`(() => { const c = document.getElementById(%q); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] > 150 && d[i+1] < 100 && d[i+2] < 100 && d[i+3] > 200; return n; })()`, id)
}

func TestPageOfEmptyReport(t *testing.T) {
	t.Parallel()
	b := openPage(t, "empty", 1280, 900)
	b.saveScreenshot("empty")
	if text := evaluate[string](b, `document.body.innerText`); !strings.Contains(text, "passed") {
		t.Errorf("the page does not say that the command passed: %s", text)
	}
}
