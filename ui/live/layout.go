package live

// The minimum terminal size.
const (
	minWidth  = 40
	minHeight = 10
	lowHeight = 20 // less leaves out what the panes need more
)

// rect is a part of the screen. The top left corner is 0, 0.
type rect struct{ x, y, w, h int }

func (r rect) contains(x, y int) bool {
	return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h
}

// areas are the parts of the screen. The first line of each pane is its title.
type areas struct {
	header, upper, feed, notice, footer rect
	tooSmall                            bool // the terminal is below the minimum size
}

// computeLayout divides a screen of w columns and h rows. The upper pane gets share
// percent of the height of both panes, but at most needs rows. notice is the number of
// lines above the footer.
func computeLayout(w, h, share, needs, notice int) areas {
	if w < minWidth || h < minHeight {
		return areas{tooSmall: true}
	}
	header := 2
	if h < lowHeight {
		header = 1
	}
	body := h - header - notice - 1
	upper := min(max(min(body*share/100, needs), 3), body-3)
	a := areas{}
	y := 0
	for _, part := range []struct {
		r *rect
		h int
	}{{&a.header, header}, {&a.upper, upper}, {&a.feed, body - upper}, {&a.notice, notice}, {&a.footer, 1}} {
		*part.r = rect{0, y, w, part.h}
		y += part.h
	}
	return a
}

// upperShare returns the actual share of the upper pane, in percent.
func (a areas) upperShare() int { return a.upper.h * 100 / max(a.upper.h+a.feed.h, 1) }

// screenAreas returns the layout of the current screen.
func (m model) screenAreas() areas {
	needs := len(m.order) + 2 // for all rows, so that a filter does not move the panes
	switch {
	case onClients(m):
		needs = len(m.snapshot.Clients) + 2
	case onBrowser(m):
		needs = max(len(m.browsedItems()), 8) + 2
	case !onQueues(m):
		needs = len(m.pageDetails(m.width-detailMargin)) + 1
	}
	return computeLayout(m.width, m.height, m.currentScreen().upperShare, needs, len(m.noticeLines()))
}
