package browser_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// stepCount returns how many steps the page of a trace has, and how many it shows.
func (b *browser) stepCount() (all, shown int) {
	b.t.Helper()
	all = evaluate[int](b, `document.querySelectorAll(".step").length`)
	return all, evaluate[int](b, `document.querySelectorAll(".step:not(.later)").length`)
}

// requireShown checks how many steps are shown.
func (b *browser) requireShown(when string, want int) {
	b.t.Helper()
	if _, shown := b.stepCount(); shown != want {
		b.t.Errorf("%s %d steps are shown, want %d", when, shown, want)
	}
}

func (b *browser) scale() float64 {
	b.t.Helper()
	return evaluate[float64](b, `Number(document.getElementById("sequence").dataset.scale)`)
}

func TestTracePageSteps(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-rollout", 1280, 800)
	b.saveScreenshot("trace-rollout")
	all, shown := b.stepCount()
	if want := evaluate[int](b, `JSON.parse(document.getElementById("data").textContent).steps.length`); all != want || shown != all || all < 20 {
		t.Fatalf("%d of %d steps are shown, the page has %d", shown, all, want)
	}
	if arrows := evaluate[int](b, `document.querySelectorAll(".cause").length`); arrows < all/2 {
		t.Errorf("%d arrows of causes for %d steps", arrows, all)
	}
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.requireShown("after the first →", 1)
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight), chromedp.Click(chromedp.CSS("#next")))
	b.requireShown("after three more steps", 4)
	b.do(chromedp.KeyEvent(kb.ArrowLeft), chromedp.Click(chromedp.CSS("#previous")))
	b.requireShown("after two steps back", 2)
	if text := evaluate[string](b, `document.getElementById("details").innerText`); !strings.Contains(text, "What") || !strings.Contains(text, "Cause") {
		t.Errorf("the details of the step are %q", text)
	}
	b.do(chromedp.KeyEvent(kb.Home))
	b.requireShown("after Home", 0)
	b.do(chromedp.KeyEvent(kb.End))
	b.requireShown("after End", all)

	// A click shows what led to a step.
	b.do(runScript(`document.querySelectorAll(".step.call")[3].dispatchEvent(new MouseEvent("click", {bubbles: true}))`))
	if chain := evaluate[int](b, `document.querySelectorAll(".cause.chosen").length`); chain < 3 {
		t.Errorf("the chain of the chosen step has %d causes", chain)
	}
	b.saveScreenshot("trace-chosen")

	b.do(chromedp.KeyEvent("a"))
	whole := b.scale()
	b.do(chromedp.KeyEvent("+"))
	if got := b.scale(); got <= whole {
		t.Errorf("after + the scale is %g, was %g", got, whole)
	}
	b.do(chromedp.KeyEvent("-"), chromedp.Click(chromedp.CSS("#out")))
	if got := b.scale(); got >= whole {
		t.Errorf("after − the scale is %g, was %g", got, whole)
	}
	b.do(runScript(`document.getElementById("picture").dispatchEvent(new WheelEvent("wheel", {ctrlKey: true, deltaY: -200, cancelable: true}))`), chromedp.KeyEvent("a"), chromedp.KeyEvent("0"))
	if got := b.scale(); got != whole {
		t.Errorf("after 0 the scale is %g, was %g", got, whole)
	}
	for _, fits := range []string{`document.getElementById("sequence").getBoundingClientRect().width <= document.getElementById("picture").clientWidth`, `document.querySelectorAll(".cause").length > 0`} {
		if !evaluate[bool](b, fits) {
			t.Errorf("not so: %s", fits)
		}
	}
	if out := evaluate[int](b, labelsOutside); out > 0 {
		t.Errorf("%d labels are not within the picture", out)
	}
}

// labelsOutside counts the labels that are cut at the edges of the picture.
const labelsOutside = `(() => { const s = document.getElementById("sequence"), w = s.viewBox.baseVal.width; return [...s.querySelectorAll("text.label")].filter((l) => l.getBBox().x < 0 || l.getBBox().x + l.getBBox().width > w).length; })()`

// TestTracePageThemes checks the contrast of what the page draws, in both themes.
func TestTracePageThemes(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-conflict", 1280, 800)
	for _, tone := range []string{".conflict", ".event", ".call"} {
		if n := evaluate[int](b, fmt.Sprintf(`document.querySelectorAll(".step%s").length`, tone)); n == 0 {
			t.Errorf("no step %s", tone)
		}
	}
	for _, theme := range []string{"light", "dark"} {
		b.do(chromedp.Click(chromedp.CSS("#theme")))
		b.saveScreenshot("trace-conflict-" + theme)
		for _, selector := range []string{"text.label", ".conflict text.label", ".clock", "#actors span"} {
			if got := evaluate[float64](b, contrast(selector)); got < 4.5 {
				t.Errorf("%s theme: the contrast of %s is %.1f, want at least 4.5", theme, selector, got)
			}
		}
	}
}

// contrast returns the script that computes the contrast of a text to the picture, as
// WCAG 2 defines it.
func contrast(selector string) string {
	return fmt.Sprintf(`(() => {
		const light = (color) => color.match(/\d+/g).slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const e = document.querySelector(%q), s = getComputedStyle(e);
		const a = light(e instanceof SVGElement ? s.fill : s.color), b = light(getComputedStyle(document.getElementById("picture")).backgroundColor);
		return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	})()`, selector)
}

func TestTracePageWithHostileTexts(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-hostile", 1280, 800)
	b.saveScreenshot("trace-hostile")
	all, _ := b.stepCount()
	for range all {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
	}
	b.requireShown("after all steps", all)
	if title := evaluate[string](b, `document.title`); strings.HasPrefix(title, "broken") {
		t.Error("the page ran a script in a name")
	}
	if n := evaluate[int](b, `document.images.length`); n > 0 {
		t.Errorf("the page has %d images", n)
	}
	if !strings.Contains(evaluate[string](b, `document.querySelector("h1").innerText`), "</script>") {
		t.Error("the heading lacks the name")
	}
}

func TestTracePageOnSmallScreen(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-cascade", 400, 800)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.saveScreenshot("trace-narrow")
	if over := evaluate[int](b, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("the page is %d pixels wider than the screen", over)
	}
}

func TestTracePageWithoutSteps(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-empty", 1280, 800)
	b.do(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent("0"))
	b.requireShown("without steps", 0)
}

// The names above the columns are complete, also above many and zoomed out: a client's has its user, too.
func TestTracePageNamesActors(t *testing.T) {
	t.Parallel()
	const outside = `(() => {
		const frame = document.getElementById("picture").getBoundingClientRect();
		return [...document.querySelectorAll("#actors span")].filter((s) => {
			return s.getBoundingClientRect().top < frame.top || s.scrollHeight > s.clientHeight;
		}).map((s) => s.title);
	})()`
	for page, keys := range map[string]string{"trace-client": " +0-", "trace-wide": " ---"} {
		b := openPage(t, page, 1280, 700)
		b.saveScreenshot(page)
		for _, key := range keys {
			if key != ' ' {
				b.do(chromedp.KeyEvent(string(key)))
			}
			if cut := evaluate[[]string](b, outside); len(cut) > 0 {
				t.Errorf("%s, after %q at scale %.2f these names are cut: %q", page, key, b.scale(), cut)
			}
		}
	}
	b := openPage(t, "trace-client", 1280, 700)
	const text = `document.querySelectorAll("#actors span")[1].innerText`
	if got, want := evaluate[string](b, text), "shop-operator\n(system:serviceaccount:default:bot)"; got != want {
		t.Errorf("the name of the client is %q, want %q", got, want)
	}
}

// A name that does not end is cut behind its first lines, and does not cover the picture.
func TestTracePageWithEndlessNames(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-hostile", 1280, 800)
	if high := evaluate[float64](b, `document.getElementById("actors").offsetHeight`); high > 240 {
		t.Errorf("the names are %v pixels high", high)
	}
}

// A label that says what is folded is complete.
func TestTracePageOfALongLoop(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-loop", 1280, 800)
	if label, want := evaluate[string](b, `document.querySelector(".step.folded text.label").textContent`), "… 118 more rounds of this loop, each caused by the one before"; label != want {
		t.Errorf("the label is %q, want %q", label, want)
	}
	if out := evaluate[int](b, labelsOutside); out > 0 {
		t.Errorf("%d labels are not within the picture", out)
	}
}

// What is folded has a step, which others follow from.
func TestTracePageFoldsAttempts(t *testing.T) {
	t.Parallel()
	b := openPage(t, "trace-folded", 1280, 800)
	b.do(runScript(`document.querySelector(".step.folded").dispatchEvent(new MouseEvent("click", {bubbles: true}))`))
	b.saveScreenshot("trace-folded")
	if label := evaluate[string](b, `document.querySelector(".step.folded text.label").textContent`); !strings.HasPrefix(label, "… ") || !strings.HasSuffix(label, " more attempts failed in the same way") {
		t.Errorf("the label is %q", label)
	}
	if text := evaluate[string](b, `document.getElementById("details").innerText`); !strings.Contains(text, "--all shows them") {
		t.Errorf("the details are %q", text)
	}
	if chain := evaluate[int](b, `document.querySelectorAll(".cause.chosen").length`); chain < 3 {
		t.Errorf("the chain of the step has %d causes", chain)
	}
	if out := evaluate[int](b, labelsOutside); out > 0 {
		t.Errorf("%d labels are not within the picture", out)
	}
}
