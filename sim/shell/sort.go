package shell

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// readLines reads all lines of files.
func (p *proc) readLines(names []string) (lines []string, release func(), status int) {
	held := 0
	status = p.eachLine(names, func(line []byte) {
		p.hold(len(line) + 16)
		held += len(line) + 16
		lines = append(lines, string(line))
	})
	return lines, func() { p.hold(-held) }, status
}

func sortLines(p *proc, args []string) int {
	f, names := p.parseFlags(args, "nrufbdgVhsk:*t:o:c", map[string]byte{"numeric-sort": 'n', "reverse": 'r', "unique": 'u', "key": 'k', "field-separator": 't', "output": 'o', "ignore-case": 'f', "human-numeric-sort": 'h', "version-sort": 'V', "stable": 's',
		"check": 'c', "ignore-leading-blanks": 'b', "dictionary-order": 'd', "general-numeric-sort": 'g'})
	order, err := newSortOrder(p, f)
	if err != nil {
		return p.fail("%v", err) + 1
	}
	lines, release, status := p.readLines(names)
	defer release()
	if f.has('c') {
		return max(status, order.check(names, lines))
	}
	slices.SortStableFunc(lines, order.compare)
	if f.has('u') {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return order.compare(a, b) == 0 })
	}
	out := p.stdout()
	if name := f['o']; name != "" {
		file, err := p.create(name, syscall.O_TRUNC)
		if err != nil {
			return p.fail("%s: %s", name, errText(err)) + 1
		}
		defer file.close()
		out = file
	}
	for _, line := range lines {
		if _, err := io.WriteString(out, line+"\n"); err != nil {
			return p.fail("write error: %s", errText(err)) + 1
		}
	}
	return status
}

// sortOrder is what lines are sorted by.
type sortOrder struct {
	p                        *proc
	keys                     []sortKey
	reversed, stable, unique bool
}

func newSortOrder(p *proc, f flags) (*sortOrder, error) {
	sep := f['t']
	if f.has('t') && utf8.RuneCountInString(sep) != 1 {
		return nil, fmt.Errorf("bad field separator '%s'", sep)
	}
	whole := sortKey{sep: sep}
	for c := range f {
		whole.option(c)
	}
	o := &sortOrder{p: p, reversed: f.has('r'), stable: f.has('s'), unique: f.has('u')}
	for _, text := range f.lines('k') {
		k, err := parseSortKey(text, whole)
		if err != nil {
			return nil, err
		}
		o.keys = append(o.keys, k)
	}
	if len(o.keys) == 0 {
		o.keys = []sortKey{whole}
	}
	return o, nil
}

func (o *sortOrder) compare(a, b string) int {
	o.p.step(len(o.keys) * (1 + (len(a)+len(b))/128))
	for i := range o.keys {
		if n := o.keys[i].compare(a, b); n != 0 {
			return n
		}
	}
	n := 0
	if !o.stable && !o.unique {
		n = strings.Compare(a, b)
	}
	if o.reversed {
		n = -n
	}
	return n
}

// check reports the first line that is not in order.
func (o *sortOrder) check(names, lines []string) int {
	for i := 1; i < len(lines); i++ {
		if n := o.compare(lines[i-1], lines[i]); n > 0 || n == 0 && o.unique {
			return o.p.fail("%s:%d: disorder: %s", strings.Join(append(names, "-")[:1], ""), i+1, lines[i])
		}
	}
	return 0
}

func uniq(p *proc, args []string) int {
	f, names := p.parseFlags(args, "cdui", map[string]byte{"count": 'c', "repeated": 'd', "unique": 'u', "ignore-case": 'i'})
	out := p.stdout()
	if len(names) > 1 {
		file, err := p.create(names[1], syscall.O_TRUNC)
		if err != nil {
			return p.fail("%s: %s", names[1], errText(err))
		}
		defer file.close()
		out = file
	}
	last, n := "", 0
	flush := func() {
		if n == 0 || f.has('d') && n < 2 || f.has('u') && n > 1 {
			return
		}
		if f.has('c') {
			_, _ = fmt.Fprintf(out, "%7d ", n)
		}
		_, _ = io.WriteString(out, last+"\n")
	}
	status := p.eachLine(names[:min(1, len(names))], func(line []byte) {
		text := string(line)
		if n > 0 && (text == last || f.has('i') && strings.EqualFold(text, last)) {
			n++
			return
		}
		flush()
		last, n = text, 1
	})
	flush()
	return status
}
