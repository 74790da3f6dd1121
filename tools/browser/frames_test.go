package browser_test

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"github.com/ctrlplane/ctrlplane/tools/internal/chromium"
)

// countFrames counts for 150 frames what the page does for each, and how many of them a
// second has.
const countFrames = `new Promise((done) => {
	const { dots } = picture, c = dots.context, draw = dots.frame, ask = requestAnimationFrame;
	const got = { frames: 0, paths: 0, texts: 0, changes: 0, asked: 0, allChanges: 0, dots: 0, level: 0, cost: 0 };
	let paths, texts, asked = 0;
	const changes = new MutationObserver((list) => { got.allChanges += list.length; });
	changes.observe(document.documentElement, { subtree: true, childList: true, attributes: true, characterData: true });
	for (const name of ["fill", "stroke", "fillText", "strokeText"]) {
		c[name] = function (...args) {
			if (name.endsWith("Text")) texts++;
			else paths++;
			return CanvasRenderingContext2D.prototype[name].apply(c, args);
		};
	}
	globalThis.requestAnimationFrame = (f) => { asked++; return ask(f); };
	const began = performance.now();
	const own = ["fill", "stroke", "fillText", "strokeText"];
	dots.frame = function (...args) {
		paths = texts = 0;
		got.allChanges += changes.takeRecords().length;
		const began = performance.now();
		draw.apply(dots, args);
		got.cost += performance.now() - began;
		const changed = changes.takeRecords().length;
		got.allChanges += changed;
		got.changes = Math.max(got.changes, changed);
		got.paths = Math.max(got.paths, paths);
		got.texts = Math.max(got.texts, texts);
		got.dots = Math.max(got.dots, dots.drawn);
		got.level = Math.max(got.level, dots.level);
	};
	const next = () => {
		got.asked = Math.max(got.asked, asked);
		asked = 0;
		if (++got.frames < 150) return ask(next);
		dots.frame = draw;
		own.forEach((name) => delete c[name]);
		globalThis.requestAnimationFrame = ask;
		changes.disconnect();
		got.seconds = (performance.now() - began) / 1000;
		got.cost /= got.frames;
		done(got);
	};
	ask(next);
})`

// frameCount is the result of countFrames: the most of a frame, except where it says so.
type frameCount struct {
	Frames     int     `json:"frames"` // in all
	Seconds    float64 `json:"seconds"`
	Cost       float64 `json:"cost"`  // ms, on average
	Asked      int     `json:"asked"` // requests for a next frame
	Dots       int     `json:"dots"`
	Paths      int     `json:"paths"`
	Texts      int     `json:"texts"`
	Changes    int     `json:"changes"`    // of elements, while a frame is drawn
	AllChanges int     `json:"allChanges"` // in all
	Level      int     `json:"level"`      // of merging
	layouts    float64 // in all
}

// load rolls out at a rate while f runs.
func (p *classPage) load(keysPerSecond int, f func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.class.roll(ctx, keysPerSecond)
	}()
	f()
	cancel()
	<-done
}

func (p *classPage) countFrames() frameCount {
	p.t.Helper()
	p.do(runCommand(performance.Enable, performance.EnableParams{}))
	before := p.layouts()
	n, err := chromedp.Run(p, chromedp.Evaluate[frameCount](countFrames, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatal(err)
	}
	n.layouts = p.layouts() - before
	p.t.Logf("%.1f frames/s, %.1f ms to draw one; %.1f layouts/s, %.1f changes of elements/s; the most of a frame: %d dots, %d paths, %d texts, %d changes; merged at level %d",
		float64(n.Frames)/n.Seconds, n.Cost, n.layouts/n.Seconds, float64(n.AllChanges)/n.Seconds, n.Dots, n.Paths, n.Texts, n.Changes, n.Level)
	return n
}

// layouts returns how often the page was laid out.
func (p *classPage) layouts() (count float64) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		result, err := cdp.Call(ctx, t, performance.GetMetrics, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, m := range result.Metrics {
			if m.Name == "LayoutCount" {
				count = m.Value
			}
		}
		return nil
	}))
	return count
}

// expectBounded checks what does not depend on the speed of the machine. However many keys
// there are, a frame draws few paths, and the elements of the page change seldom.
func (n frameCount) expectBounded(t *testing.T) {
	t.Helper()
	if n.Asked > 1 {
		t.Errorf("%d requests for a next frame in one frame", n.Asked)
	}
	if n.Dots > 300 || n.Paths > 70 || n.Texts > 120 {
		t.Errorf("%d dots, %d paths, %d texts in a frame", n.Dots, n.Paths, n.Texts)
	}
	if n.Changes > 20 {
		t.Errorf("%d changes of elements while a frame is drawn", n.Changes)
	}
	if perSecond := float64(n.AllChanges) / n.Seconds; perSecond > 500 {
		t.Errorf("%.0f changes of elements/s", perSecond)
	}
	if n.layouts > float64(n.Frames)+30*n.Seconds {
		t.Errorf("%.0f layouts in %d frames", n.layouts, n.Frames)
	}
}

// TestWebPageFrames has the load that the page is made for, 50 keys a second, and then more
// than can be seen. It counts frames, in a browser that draws nothing else.
func TestWebPageFrames(t *testing.T) {
	p := openClassIn(newBrowser(t, chromium.Start(t, 1280, 720), 1280, 720), nil)
	p.await(`!picture.session.fresh`)
	p.load(50, func() {
		p.await(`picture.dots.drawn > 20`)
		n := p.countFrames()
		p.picture("busy")
		n.expectBounded(t)
	})
	p.load(1000, func() {
		p.await(`document.getElementById("notes").innerText.includes("one dot stands for")`)
		n := p.countFrames()
		n.expectBounded(t)
		if n.Level == 0 {
			t.Error("1000 keys/s are not merged")
		}
	})
	p.await(`!document.getElementById("notes").innerText.includes("one dot stands for")`)
}
