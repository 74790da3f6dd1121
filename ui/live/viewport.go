package live

// viewport is the cursor in a list, and the first visible line.
type viewport struct{ cursor, top int }

// clampToList adjusts the viewport to n lines in h rows, so that the cursor is visible
// and no row is unused unless n < h.
func (l viewport) clampToList(n, h int) viewport {
	l.cursor = min(max(l.cursor, 0), max(n-1, 0))
	l.top = min(max(l.top, l.cursor-h+1), l.cursor)
	l.top = max(0, min(l.top, n-h))
	return l
}

func (l viewport) moveCursor(a action, n, h int) viewport {
	l = l.clampToList(n, h)
	by := stepSize(a, n, h)
	l.cursor += by
	if a != moveUp && a != moveDown {
		l.top += by
	}
	return l.clampToList(n, h)
}

// panBy scrolls a list without a visible cursor.
func (l viewport) panBy(by, n, h int) viewport {
	l.top = max(0, min(l.top+by, n-h))
	l.cursor = l.top
	return l
}

// reveal moves the cursor to a line, and scrolls only if it is not visible.
func (l viewport) reveal(at, n, h int) viewport {
	if at < l.top || at >= l.top+h {
		l.top = at - h/3
	}
	l.cursor = at
	return l.clampToList(n, h)
}

// stepSize returns how far an action moves in n lines of which h are visible.
func stepSize(a action, n, h int) int {
	switch a {
	case moveUp:
		return -1
	case moveDown:
		return 1
	case halfUp:
		return -max(h/2, 1)
	case halfDown:
		return max(h/2, 1)
	case pageUp:
		return -max(h, 1)
	case pageDown:
		return max(h, 1)
	case toTop:
		return -n
	case toEnd:
		return n
	}
	return 0
}

// scrollBy scrolls the viewport and keeps the cursor visible.
func (l viewport) scrollBy(by, n, h int) viewport {
	l = l.clampToList(n, h)
	l.top = max(0, min(l.top+by, n-h))
	l.cursor = min(max(l.cursor, l.top), l.top+h-1)
	return l.clampToList(n, h)
}
