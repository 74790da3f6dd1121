package live

// list is a cursor in a list, and the first line of it that is shown.
type list struct{ cursor, top int }

// within moves the list's window so that it shows its cursor, and no more
// beyond the end of n lines than need be, in h rows.
func (l list) within(n, h int) list {
	l.cursor = min(max(l.cursor, 0), max(n-1, 0))
	l.top = min(max(l.top, l.cursor-h+1), l.cursor)
	l.top = max(0, min(l.top, n-h))
	return l
}

// move answers a key that moves the cursor.
func (l list) move(a action, n, h int) list {
	l = l.within(n, h)
	by := step(a, n, h)
	l.cursor += by
	if a != moveUp && a != moveDown {
		l.top += by
	}
	return l.within(n, h)
}

// pan scrolls where there is no cursor to see.
func (l list) pan(by, n, h int) list {
	l.top = max(0, min(l.top+by, n-h))
	l.cursor = l.top
	return l
}

// step is how far a key moves in n lines of which h are seen.
func step(a action, n, h int) int {
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

// scroll moves the window and keeps the cursor in it.
func (l list) scroll(by, n, h int) list {
	l = l.within(n, h)
	l.top = max(0, min(l.top+by, n-h))
	l.cursor = min(max(l.cursor, l.top), l.top+h-1)
	return l.within(n, h)
}
