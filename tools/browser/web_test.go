package browser_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// classPage is the page of a class in a browser.
type classPage struct {
	*browser
	class  *class
	server *web.Server
	link   string

	streams []io.Closer // that fillStreams has opened
}

// openClass opens the page of a class.
func openClass(t *testing.T, width, height int, change func(*web.Options)) *classPage {
	t.Helper()
	return openClassIn(openBrowser(t, width, height), change)
}

func openClassIn(b *browser, change func(*web.Options)) *classPage {
	t := b.t
	t.Helper()
	c := newClass()
	o := web.Options{Source: c, Interventions: hands{class: c}, ClientInterventions: hands{class: c}, Speed: hands{class: c}}
	if change != nil {
		change(&o)
	}
	s, err := web.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	p := &classPage{browser: b, class: c, server: s, link: s.OnceLink()}
	t.Cleanup(func() {
		b.mu.Lock()
		b.ended = true
		b.mu.Unlock()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	p.do(chromedp.Navigate(p.link))
	p.await(`document.querySelectorAll(".node.controller").length >= 4 || picture.diagram.focus.length > 0`)
	t.Cleanup(func() {
		origin, _, _ := strings.Cut(p.link, "#")
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.requests {
			if !strings.HasPrefix(r, origin) {
				t.Errorf("the page requests %s", r)
			}
		}
	})
	return p
}

// await waits until an expression is true. One that throws is not: an element may not exist yet. If it
// stays false for long, the test ends with what the page shows.
func (p *classPage) await(js string) {
	p.t.Helper()
	condition := `new Promise((done) => { const end = performance.now() + 60000; const look = () => { let is, thrown = "";
		try { is = (` + js + `); } catch (e) { thrown = e + "; "; }
		if (is) done(""); else if (performance.now() > end) done(thrown + "the page shows: " + document.body.innerText); else setTimeout(look, 20); }; look(); })`
	shown, err := chromedp.Run(p, chromedp.Evaluate[string](condition, chromedp.EvalAwaitPromise))
	if err != nil || shown != "" {
		p.t.Fatalf("awaiting %s: %v: %s", js, err, shown)
	}
}

// press clicks the button of the panel or the header with a text.
func (p *classPage) press(text string) {
	p.t.Helper()
	find := `[...document.querySelectorAll("#panel button, header button")].find((b) => b.textContent === ` + quote(text) + ` && b.offsetParent)`
	p.await(find)
	p.do(runScript(find + `.click()`))
}

func quote(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is JSON
	}
	return string(data)
}

func (p *classPage) click(node string) {
	p.t.Helper()
	p.do(runScript(`document.querySelector('[data-id=` + quote(node) + `]').click()`))
}

// picture saves a screenshot if WEB_PICTURES names a folder.
func (p *classPage) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("WEB_PICTURES")
	if dir == "" {
		return
	}
	p.do(runScript(framesDrawn))
	png, err := chromedp.Run(p, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	testutil.WriteFile(p.t, filepath.Join(dir, name+".png"), png)
}

const feedText = `document.getElementById("lines").innerText`

// TestWebPage opens the page, watches a rollout, and intervenes.
func TestWebPage(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	if at := evaluate[string](p.browser, `location.href + document.cookie`); strings.Contains(at, "#") {
		t.Errorf("the token or the cookie can be read in the page: %s", at)
	}
	for _, id := range []string{"kind:deployments.apps", "kind:replicasets.apps", "kind:pods", "actor:deployment-controller", "actor:kube-scheduler"} {
		if !evaluate[bool](p.browser, `!!document.querySelector('[data-id=`+quote(id)+`]')`) {
			t.Errorf("at rest the diagram has no %s", id)
		}
	}
	for _, id := range []string{"actor:kube-apiserver", "actor:job-controller"} {
		if evaluate[bool](p.browser, `!!document.querySelector('[data-id=`+quote(id)+`]')`) {
			t.Errorf("at rest the diagram has %s", id)
		}
	}
	p.await(`document.querySelectorAll("#edges path.write").length >= 6 && document.querySelectorAll("#edges path.watch").length >= 6`)
	p.picture("rest")

	p.do(runScript(`globalThis.most = 0; const { dots } = picture, draw = dots.frame;
		dots.frame = function (...args) { draw.apply(dots, args); most = Math.max(most, dots.drawn); }`))
	p.await(`!picture.session.fresh`)
	p.class.rollOut("web")
	p.await(feedText + `.includes("binds")`)
	p.picture("rollout")
	p.await(feedText + `.includes("Pod status")`)
	if most := evaluate[int](p.browser, `most`); most == 0 {
		t.Error("nothing moved in the picture")
	}
	lines := evaluate[string](p.browser, feedText)
	order := []string{"kubectl creates Deployment", "deployment creates ReplicaSet", "replicaset creates Pod", "scheduler binds Pod"}
	for i, line := range order {
		if !strings.Contains(lines, line) {
			t.Errorf("the feed has no %q: %s", line, lines)
		} else if i > 0 && strings.Index(lines, line) < strings.Index(lines, order[i-1]) {
			t.Errorf("%q is shown before its cause", line)
		}
	}

	p.click("actor:replicaset-controller")
	p.press("Pause")
	p.await(`document.querySelector('[data-id="actor:replicaset-controller"]').dataset.state === "paused"`)
	p.await(`document.getElementById("panel").innerText.includes("Held writes: 1")`)
	p.press("Step")
	p.await(`document.querySelector("#panel .diff")?.innerText.includes("spec.replicas: 3")`)
	p.picture("paused")
	p.press("Explain")
	p.await(`document.querySelector("#panel .explain")?.innerText.includes("ReplicaSet")`)
	p.press("End all")
	p.await(`document.querySelector('[data-id="actor:replicaset-controller"]').dataset.state === "running"`)

	p.press("1/10×")
	p.await(`[...document.querySelectorAll("#speed button")].find((b) => b.textContent === "1/10×").getAttribute("aria-pressed") === "true"`)
	p.do(chromedp.KeyEvent("["))
	p.press("next key")
	p.press("1×")

	p.press("✕")
	p.do(runScript(`[...document.querySelectorAll("#lines button")].find((b) => b.innerText.includes("replicaset creates Pod")).click()`))
	p.await(`document.querySelectorAll("#panel .chain li").length >= 4`)
	p.picture("why")
	p.press("Trace")
	p.await(`document.querySelectorAll("#panel .tree .cause").length >= 2`)
}

// TestWebPageShowsHostileTextsAsText has texts that would be markup.
func TestWebPageShowsHostileTextsAsText(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.mu.Lock()
	p.expected = "404" // why: no write of the object has succeeded
	p.mu.Unlock()
	const hostile = `<img src=x onerror="document.title='broken'"><script>document.title='broken'</script>`
	p.class.change(func() {
		p.class.append(
			&observe.Logged{Controller: "deployment-controller", Level: 8, Message: hostile},
			&observe.Called{Controller: hostile, Verb: "create", Object: observe.Object{Resource: "pods", Kind: hostile, Namespace: hostile, Name: hostile}, Status: 500, Error: hostile},
			&observe.Synced{Controller: "job-controller", Queue: "job", ID: 99, Key: hostile, Error: hostile},
			&observe.ControllerChanged{Controller: "job-controller", State: hostile, Reason: hostile})
		p.class.states["job-controller"] = hostile
	})
	p.await(feedText + `.includes("logs an error")`)
	p.do(runScript(`[...document.querySelectorAll("#lines button")].find((b) => b.innerText.includes("cannot create")).click()`))
	p.await(`document.getElementById("panel").innerText.includes("onerror")`)
	if found := evaluate[int](p.browser, `document.querySelectorAll("img, script:not([src])").length`); found > 0 {
		t.Errorf("%d elements were made of a text", found)
	}
	if title := evaluate[string](p.browser, `document.title`); strings.HasPrefix(title, "broken") {
		t.Error("the page ran a script in a text")
	}
}

// TestWebPageReadOnly opens the page as a student.
func TestWebPageReadOnly(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, func(o *web.Options) { o.ReadOnly = true })
	p.await(`document.getElementById("badges").innerText.includes("read-only")`)
	p.click("actor:replicaset-controller")
	p.await(`document.getElementById("panel").innerText.includes("This page is read-only")`)
	if n := evaluate[int](p.browser, `document.querySelectorAll("#panel .controls button").length`); n > 0 {
		t.Errorf("%d buttons to intervene are shown", n)
	}
}

// fillStreams opens as many streams as a server allows.
func (p *classPage) fillStreams() {
	p.t.Helper()
	const all, ofSession = 128, 20
	origin, token, _ := strings.Cut(p.server.ClassLink(), "#")
	var client *http.Client
	for open := 0; open < all; {
		if open%ofSession == 0 {
			jar, err := cookiejar.New(nil)
			if err != nil {
				p.t.Fatal(err)
			}
			client = &http.Client{Jar: jar}
			response, err := client.Post(origin+"api/session", "application/json", strings.NewReader(`{"token":`+quote(token)+`}`))
			if err != nil {
				p.t.Fatal(err)
			}
			response.Body.Close()
		}
		request, err := http.NewRequestWithContext(p, http.MethodGet, origin+"api/stream", nil)
		if err != nil {
			p.t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			p.t.Fatal(err)
		}
		if response.StatusCode != http.StatusOK { // the page has just closed its own
			response.Body.Close()
			continue
		}
		open++
		p.t.Cleanup(func() { response.Body.Close() })
		p.streams = append(p.streams, response.Body)
	}
}

// TestWebPageThatIsOneTooMany opens a page of a viewer when no more can be open.
func TestWebPageThatIsOneTooMany(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, func(o *web.Options) { o.ReadOnly = true })
	p.mu.Lock()
	p.expected = "503"
	p.mu.Unlock()
	p.do(runScript(`dispatchEvent(new Event("pagehide"))`))
	p.fillStreams()
	p.do(chromedp.Reload())
	const curtain = `document.getElementById("curtain")`
	p.await(curtain + `.innerText.includes("Too many pages are open: close some. This page continues")`)
	p.await(`document.title.includes("·")`) // the state was shown
	if header := evaluate[string](p.browser, `document.getElementById("state").innerText + document.getElementById("badges").innerText`); header != "read-only" {
		t.Errorf("before the first status the page says %q", header)
	}
	p.picture("full")
	for _, stream := range p.streams {
		stream.Close()
	}
	p.await(curtain + `.hidden && document.querySelectorAll(".node.controller").length >= 4`)
}

// TestWebPageFindsTheControlPlaneAgain ends the control plane, and starts another one.
func TestWebPageFindsTheControlPlaneAgain(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.class.change(func() { p.class.failing = errors.New("connection refused <b>") })
	p.await(`!document.getElementById("curtain").hidden && document.getElementById("curtain").innerText.includes("connection refused <b>")`)
	p.picture("ended")
	p.class.change(func() {
		p.class.failing, p.class.records, p.class.started = nil, nil, time.Now()
	})
	p.await(`document.getElementById("curtain").hidden`)
	p.await(feedText + `.includes("was started again")`)
	p.class.rollOut("again")
	p.await(feedText + `.includes("default/again")`)
}

// TestWebPageOfALesson shows the controllers of the lesson, and others when asked.
func TestWebPageOfALesson(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, func(o *web.Options) { o.Focus = []string{"job-controller"} })
	shown := `[...document.querySelectorAll(".node.controller")].map((n) => n.dataset.id).join()`
	p.await(shown + ` === "actor:job-controller"`)
	if kinds := evaluate[string](p.browser, `[...document.querySelectorAll(".node.kind")].map((n) => n.dataset.id).join()`); kinds != "kind:pods" {
		t.Errorf("kinds %s, want those that the controller watches or writes", kinds)
	}
	p.press("Lesson")
	p.await(shown + `.includes("actor:replicaset-controller")`)
}
