package live

// viewport is a cursor in a list, and the first line of it that is shown.
type viewport struct{ cursor, top int }

// clamp moves the list's window so that it shows its cursor, and no more
// beyond the end of n lines than need be, in h rows.
func (l viewport) clamp(n, h int) viewport {
	l.cursor = min(max(l.cursor, 0), max(n-1, 0))
	l.top = min(max(l.top, l.cursor-h+1), l.cursor)
	l.top = max(0, min(l.top, n-h))
	return l
}

// moveCursor answers a key that moves the cursor.
func (l viewport) moveCursor(a action, n, h int) viewport {
	l = l.clamp(n, h)
	by := stepSize(a, n, h)
	l.cursor += by
	if a != moveUp && a != moveDown {
		l.top += by
	}
	return l.clamp(n, h)
}

// panBy scrolls where there is no cursor to see.
func (l viewport) panBy(by, n, h int) viewport {
	l.top = max(0, min(l.top+by, n-h))
	l.cursor = l.top
	return l
}

// stepSize is how far a key moves in n lines of which h are seen.
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

// scrollBy moves the window and keeps the cursor in it.
func (l viewport) scrollBy(by, n, h int) viewport {
	l = l.clamp(n, h)
	l.top = max(0, min(l.top+by, n-h))
	l.cursor = min(max(l.cursor, l.top), l.top+h-1)
	return l.clamp(n, h)
}
