package report

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
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ctrlplane/ctrlplane/health"
)

// browser is a tab of a headless browser that shows a report.
type browser struct {
	context.Context
	t *testing.T

	mu       sync.Mutex
	requests []string
	problems []string // of the console, and uncaught ones
}

// browsers are the names that Chromium has.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("there is no browser in PATH (%s): the page is not tried", strings.Join(browsers, ", "))
	return ""
}

// open shows a page in a window of a size. It must not ask for anything else.
func open(t *testing.T, path string, width, height int) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findBrowser(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.WindowSize(width, height),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // it starts here, and ends with this context
		t.Fatal(err)
	}
	b := &browser{t: t}
	b.Context, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	page := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	b.do(tell(network.Enable, network.EnableParams{}), tell(log.Enable, struct{}{}), chromedp.EmulateViewport(int64(width), int64(height)))
	if err := chromedp.Listen(b, b.note); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(page))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.requests) != 1 || b.requests[0] != page {
			t.Errorf("requests: %q, want that of the page only", b.requests)
		}
		if len(b.problems) > 0 {
			t.Errorf("the browser complains: %q", b.problems)
		}
	})
	return b
}

// tell is a command of the protocol that answers with nothing of interest.
func tell[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
		b.problems = append(b.problems, e.Entry.Text)
	}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// runScript runs one, and waits for what it promises.
func runScript(js string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](js, chromedp.EvalAwaitPromise)
}

// drawn waits until two frames have been drawn.
const drawn = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`

// value is what an expression gives once all has been drawn.
func value[T any](b *browser, js string) T {
	b.t.Helper()
	b.do(runScript(drawn))
	v, err := chromedp.Run(b, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%v: %s", err, js)
	}
	return v
}

func (b *browser) width() float64 {
	b.t.Helper()
	return value[float64](b, `(({from, to}) => to - from)(document.getElementById("range").dataset)`)
}

func (b *browser) records() int {
	b.t.Helper()
	return value[int](b, `Number(document.getElementById("records-count").dataset.records)`)
}

// shoot keeps a picture, if REPORT_PICTURES names a folder.
func (b *browser) shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("REPORT_PICTURES")
	if dir == "" {
		return
	}
	b.do(runScript(drawn))
	png, err := chromedp.Run(b, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// failing is a report with all that a page can show.
func failing(t *testing.T, syncs int) string {
	t.Helper()
	s := &finalState{objects: nil, events: nil}
	for i, text := range hostileTexts {
		s.unhealthy = append(s.unhealthy, unhealthyObject{
			health.State{Ref: health.Ref{Namespace: "shop", Name: text}, Status: health.InProgress}, "why: " + text, i,
		})
		s.events = append(s.events, apiEvent{At: runStart.Add(time.Duration(i) * time.Second), Warning: i%3 == 0, Reason: "FailedScheduling", Object: "Pod shop/" + text, Message: text, From: "scheduler", Count: int32(i + 1)})
		s.objects = append(s.objects, parseObject(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i)))
	}
	j := rolloutJournal(syncs)
	dir := writeReport(t, j, s, Outcome{
		Command: []string{"sh", "-c", hostileTexts[0]}, Code: 1, Began: runStart, Took: 6 * time.Second,
		Stages: []Stage{{Name: "command", At: runStart.Add(900 * time.Millisecond), Took: 4800 * time.Millisecond}, {Name: "stop", At: runStart.Add(5700 * time.Millisecond), Took: 300 * time.Millisecond}},
	})
	return filepath.Join(dir, PageFile)
}

func TestPageInBrowser(t *testing.T) {
	b := open(t, failing(t, 3000), 1280, 900)
	b.shoot("wide")

	all := b.records()
	if want := value[int](b, `JSON.parse(document.getElementById("data").textContent).marks.length`); all != want || all < 3000 {
		t.Errorf("%d records are listed, the page has %d", all, want)
	}
	if lit := value[int](b, inked("lanes")); lit < 1000 {
		t.Errorf("%d pixels of the timeline are drawn", lit)
	}
	if lit := value[int](b, inked("depths")); lit < 1000 {
		t.Errorf("%d pixels of the queues are drawn", lit)
	}

	// The search narrows all there is.
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "deployment conflict"))
	some := b.records()
	if some == 0 || some >= all {
		t.Errorf("%d of %d records match", some, all)
	}
	if other := value[int](b, `[...document.querySelectorAll("section tbody tr")].filter((row) => row.offsetParent && !(/deployment/i.test(row.textContent) && /conflict|modified/i.test(row.textContent))).length`); other > 0 {
		t.Errorf("%d rows are shown that do not match", other)
	}
	b.shoot("search")
	b.do(runScript(`(() => { const s = document.getElementById("search"); s.value = ""; s.dispatchEvent(new Event("input")); })()`))
	if got := b.records(); got != all {
		t.Errorf("%d records after the search, want %d", got, all)
	}

	// The zoom changes the time, by button, key and mouse, and the records with it.
	whole := b.width()
	b.do(chromedp.Click(chromedp.CSS(`[data-zoom="in"]`)))
	if got := b.width(); got > whole*0.51 || got < whole*0.49 {
		t.Errorf("after + %g ms are shown, want half of %g", got, whole)
	}
	if got := b.records(); got >= all || got == 0 {
		t.Errorf("%d records in half of the time, %d in all of it", got, all)
	}
	b.do(chromedp.Focus(chromedp.CSS("#scroll")), chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.ArrowRight))
	if got := b.width(); got > whole*0.26 {
		t.Errorf("after the key + %g ms are shown of %g", got, whole)
	}
	b.do(chromedp.KeyEvent("n"))
	if chosen := value[string](b, `document.getElementById("details").textContent`); !strings.Contains(chosen, "Controller") {
		t.Errorf("the key N shows %q", chosen)
	}
	b.shoot("zoom")
	b.do(chromedp.KeyEvent("0"))
	if got := b.width(); got != whole {
		t.Errorf("after 0 %g ms are shown, want %g", got, whole)
	}
	b.do(runScript(`document.getElementById("lanes").dispatchEvent(new WheelEvent("wheel", {ctrlKey: true, deltaY: -200, cancelable: true}))`))
	if got := b.width(); got > whole*0.51 {
		t.Errorf("after the wheel %g ms are shown of %g", got, whole)
	}
	b.do(chromedp.Click(chromedp.CSS(`#slow button.go`)))
	if got := b.width(); got >= whole {
		t.Errorf("%g ms are shown about the slowest sync", got)
	}

	if title := value[string](b, `document.title`); strings.HasPrefix(title, "broken") {
		t.Error("a name was taken for a script")
	}
}

// inked counts the pixels of a canvas that are not empty.
func inked(id string) string {
	return fmt.Sprintf(`(() => { const c = document.getElementById(%q); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })()`, id)
}

func TestPageOnSmallScreen(t *testing.T) {
	b := open(t, failing(t, 800), 400, 800)
	b.shoot("narrow")
	if over := value[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("the page is %d pixels wider than the screen", over)
	}
	b.do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	if bg := value[string](b, `getComputedStyle(document.body).backgroundColor`); bg != "rgb(17, 21, 27)" {
		t.Errorf("in the dark theme the page is %s", bg)
	}
	b.shoot("narrow-dark")
}

// TestPageWithManyRecords has as many as an observer keeps.
func TestPageWithManyRecords(t *testing.T) {
	b := open(t, failing(t, 16384), 1280, 900)
	b.do(chromedp.Click(chromedp.CSS("#theme")), chromedp.Click(chromedp.CSS("#theme")))
	b.shoot("many-dark")
	took := value[float64](b, `(async () => {
		const began = performance.now();
		for (let i = 0; i < 10; i++) {
			document.querySelector('[data-zoom="in"]').click();
			await new Promise(requestAnimationFrame);
		}
		return (performance.now() - began) / 10;
	})()`)
	t.Logf("%.1f ms a frame", took)
	if took > 1000 {
		t.Errorf("a zoom takes %.0f ms", took)
	}
}

func TestPageOfNothing(t *testing.T) {
	dir := writeReport(t, newFakeJournal(), &finalState{}, Outcome{Command: []string{"true"}, Began: runStart, Took: time.Second})
	b := open(t, filepath.Join(dir, PageFile), 1280, 900)
	b.shoot("nothing")
	if text := value[string](b, `document.body.innerText`); !strings.Contains(text, "passed") {
		t.Errorf("the page does not say that the command passed: %s", text)
	}
}
