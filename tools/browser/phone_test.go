package browser_test

import "testing"

// TestWebPageOnAPhone checks that the page is not wider than a phone, that all of its buttons are on the screen, and that no
// node of the diagram hides another one: the diagram is scrolled within the picture.
func TestWebPageOnAPhone(t *testing.T) {
	t.Parallel()
	p := openClass(t, 390, 844, nil)
	p.await(`!picture.session.fresh`)
	p.class.rollOutIn("default", "web")
	p.await(`document.querySelectorAll(".node.controller").length >= 4 && document.querySelectorAll(".node.kind").length >= 3 && document.querySelectorAll(".node.client").length >= 1`)
	p.await(`document.documentElement.scrollWidth <= 390 && document.body.scrollWidth <= 390`)
	p.await(`[...document.querySelectorAll("header > *, #headline, #legend, #notes, #side")].every((e) => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= 390.5; })`)
	p.await(`document.getElementById("name").getBoundingClientRect().width > 40`)
	const overlaps = `(() => {
		const boxes = [...document.querySelectorAll(".node")].map((n) => n.getBoundingClientRect());
		return boxes.some((a, i) => boxes.slice(i + 1).some((b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
	})()`
	p.await(`!` + overlaps)
	p.picture("phone")
	p.do(runScript(`document.getElementById("picture").scrollLeft = 1000`))
	p.await(`document.getElementById("filter-controller").getBoundingClientRect().right <= 390`)
	p.await(`[...document.querySelectorAll(".node.controller")].every((n) => n.getBoundingClientRect().right <= 390)`)
	p.picture("phone-scrolled")
}
