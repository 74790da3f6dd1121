package browser_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/web"
)

// choose chooses an entry of a menu.
func (p *classPage) choose(menu, value string) {
	p.t.Helper()
	find := `document.getElementById(` + quote("filter-"+menu) + `)`
	p.await(`[...` + find + `.options].some((o) => o.value === ` + quote(value) + `)`)
	p.do(runScript(find + `.value = ` + quote(value) + `; ` + find + `.dispatchEvent(new Event("change"))`))
}

// shownNodes are the elements of the diagram, in alphabetical order.
const shownNodes = `[...document.querySelectorAll(".node")].map((n) => n.dataset.id).sort().join(" ")`

// shownLines are the lines of the list that are not hidden.
const shownLines = `[...document.querySelectorAll("#lines li")].filter((l) => l.offsetParent).map((l) => l.innerText).join("; ")`

// TestWebPageFilters limits the page to a controller, to a kind and to a namespace.
func TestWebPageFilters(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.class.rollOutIn("default", "web")
	p.class.rollOutIn("shop", "cart")
	p.await(feedText + `.includes("shop/cart-5fc9f4bf66-x2x9k")`)
	all := evaluate[string](p.browser, shownNodes)
	expect := func(what, want string) {
		t.Helper()
		p.await(what + ` === ` + quote(want))
	}
	lacks := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			p.await(`!(` + shownLines + `).includes(` + quote(text) + `)`)
		}
	}

	p.choose("controller", "replicaset-controller")
	expect(shownNodes, "actor:replicaset-controller kind:pods kind:replicasets.apps")
	lacks("deployment creates", "binds", "kubectl creates")
	p.await(`(` + shownLines + `).includes("replicaset creates Pod")`)
	p.await(`document.getElementById("notes").innerText.includes("only replicaset")`)

	p.choose("namespace", "shop")
	lacks("default/web")
	p.await(`(` + shownLines + `).includes("shop/cart")`)
	p.class.rollOutIn("default", "other")
	p.class.rollOutIn("shop", "basket")
	p.await(`(` + shownLines + `).includes("shop/basket")`)
	lacks("default/other")
	p.picture("filtered")

	p.choose("controller", "")
	p.choose("namespace", "")
	p.choose("kind", "deployments.apps")
	expect(shownNodes, "actor:deployment-controller actor:kubectl (kubernetes-admin) kind:deployments.apps")
	lacks("creates Pod", "creates ReplicaSet", "binds")

	p.choose("kind", "")
	expect(shownNodes, all)
	p.await(`(` + shownLines + `).includes("default/other")`)
}

// TestWebPageMenuThatHasTheFocus has a namespace that is new since a menu was used.
func TestWebPageMenuThatHasTheFocus(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	p.await(`!picture.session.fresh`)
	p.class.rollOutIn("default", "web")
	const menu = `document.getElementById("filter-namespace")`
	p.choose("namespace", "default")
	p.do(runScript(menu + `.focus()`))
	p.class.rollOutIn("shop", "cart")
	p.awaitRead()
	p.do(runScript(menu + `.dispatchEvent(new Event("pointerdown"))`))
	p.choose("namespace", "shop")
	p.do(chromedp.KeyEvent(kb.Escape)) // the menu still has the focus
	p.await(menu + `.value === "" && !picture.diagram.filter.isOn`)
}

// TestWebPageForgetsTheOldest has a namespace that is used again, as in a map of what the page knows.
func TestWebPageForgetsTheOldest(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, nil)
	if kept := evaluate[string](p.browser, `[...new picture.model.namespaces.constructor(2).set("busy").set("old").set("busy").set("new").keys()].join()`); kept != "busy,new" {
		t.Errorf("kept: %s", kept)
	}
}

// TestWebPageLeavesOutOldActivity has a controller that wrote two minutes before the page was
// opened.
func TestWebPageLeavesOutOldActivity(t *testing.T) {
	t.Parallel()
	p := openClass(t, 1280, 720, func(o *web.Options) {
		c := o.Source.(*class)
		c.now = func() time.Time { return time.Now().Add(-2 * time.Minute) }
		c.append(&observe.Called{Controller: "job-controller", Verb: "create", Status: 201, Object: observe.Object{Resource: "pods", Kind: "Pod", Namespace: "default", Name: "old"}})
		c.now = time.Now
	})
	p.await(`!picture.session.fresh && ` + feedText + `.includes("default/old")`)
	p.await(`picture.model.process.state === "ready"`)
	p.await(`!(` + shownNodes + `).includes("job-controller")`)
	p.class.rollOut("web")
	p.await(feedText + `.includes("Pod status")`)
	if nodes := evaluate[string](p.browser, shownNodes); strings.Contains(nodes, "job-controller") {
		t.Errorf("shown: %s", nodes)
	}
}
