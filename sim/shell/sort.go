package shell

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// readLines reads all lines of files.
func (p *proc) readLines(names []string) (lines []string, release func(), status int) {
	held := 0
	status = p.eachInput(names, func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			p.hold(len(line) + 16)
			held += len(line) + 16
			lines = append(lines, string(line))
			return true
		})
	})
	return lines, func() { p.hold(-held) }, status
}

func sortLines(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "nrufbdgVhsk:t:o:cz", map[string]byte{"numeric-sort": 'n', "reverse": 'r', "unique": 'u', "key": 'k', "field-separator": 't', "output": 'o', "ignore-case": 'f', "human-numeric-sort": 'h', "version-sort": 'V', "stable": 's'})
	if !ok {
		return 2
	}
	lines, release, status := p.readLines(names)
	defer release()
	k, err := newSortKey(f)
	if err != nil {
		return p.fail("%v", err) + 1
	}
	compare := func(a, b string) int {
		p.step(1 + (len(a)+len(b))/128)
		n := k.compare(a, b)
		if n == 0 && !f.has('s') && !f.has('u') {
			n = strings.Compare(a, b)
		}
		if f.has('r') {
			n = -n
		}
		return n
	}
	slices.SortStableFunc(lines, compare)
	if f.has('u') {
		lines = slices.CompactFunc(lines, func(a, b string) bool { return k.compare(a, b) == 0 })
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

// sortKey is what lines are sorted by.
type sortKey struct {
	from, to       int // fields, from 1; 0 = the whole line
	sep            string
	numeric, fold  bool
	human, version bool
	reversed       bool
}

func newSortKey(f flags) (sortKey, error) {
	k := sortKey{numeric: f.has('n') || f.has('g'), fold: f.has('f'), human: f.has('h'), version: f.has('V'), sep: f['t']}
	if !f.has('k') {
		return k, nil
	}
	from, to, _ := strings.Cut(f['k'], ",")
	parse := func(s string) (int, error) {
		number := strings.TrimRight(s, "nrfbhgVd")
		for _, c := range s[len(number):] {
			switch c {
			case 'n', 'g':
				k.numeric = true
			case 'r':
				k.reversed = true
			case 'f':
				k.fold = true
			case 'h':
				k.human = true
			case 'V':
				k.version = true
			}
		}
		number, _, _ = strings.Cut(number, ".")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("bad field specification '%s'", f['k'])
		}
		return n, nil
	}
	var err error
	if k.from, err = parse(from); err == nil && to != "" {
		k.to, err = parse(to)
	}
	return k, err
}

func (k sortKey) of(line string) string {
	if k.from == 0 {
		return line
	}
	var fields []string
	if k.sep != "" {
		fields = strings.Split(line, k.sep)
	} else {
		fields = strings.Fields(line)
	}
	if k.from > len(fields) {
		return ""
	}
	to := len(fields)
	if k.to > 0 {
		to = min(to, k.to)
	}
	if to < k.from {
		return ""
	}
	return strings.Join(fields[k.from-1:to], cmp.Or(k.sep, " "))
}

func (k sortKey) compare(a, b string) int {
	a, b = k.of(a), k.of(b)
	n := 0
	switch {
	case k.human:
		n = cmp.Compare(leadingNumber(a, true), leadingNumber(b, true))
	case k.numeric:
		n = cmp.Compare(leadingNumber(a, false), leadingNumber(b, false))
	case k.version:
		n = compareVersions(a, b)
	case k.fold:
		n = strings.Compare(strings.ToUpper(a), strings.ToUpper(b))
	default:
		n = strings.Compare(a, b)
	}
	if k.reversed {
		n = -n
	}
	return n
}

// leadingNumber returns the number that a string begins with.
func leadingNumber(s string, human bool) float64 {
	s = strings.TrimLeft(s, " \t")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' || s[end] == '-' && end == 0) {
		end++
	}
	x, _ := strconv.ParseFloat(s[:end], 64)
	if human && end < len(s) {
		if i := strings.IndexByte("KMGTPE", s[end]&^0x20); i >= 0 {
			for range i + 1 {
				x *= 1024
			}
		}
	}
	return x
}

func compareVersions(a, b string) int {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for a != "" && b != "" {
		if digit(a[0]) && digit(b[0]) {
			i, j := 0, 0
			for i < len(a) && digit(a[i]) {
				i++
			}
			for j < len(b) && digit(b[j]) {
				j++
			}
			x, y := strings.TrimLeft(a[:i], "0"), strings.TrimLeft(b[:j], "0")
			if n := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); n != 0 {
				return n
			}
			a, b = a[i:], b[j:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func uniq(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "cdui", map[string]byte{"count": 'c', "repeated": 'd', "unique": 'u', "ignore-case": 'i'})
	if !ok {
		return 1
	}
	last, n := "", 0
	flush := func() {
		if n == 0 || f.has('d') && n < 2 || f.has('u') && n > 1 {
			return
		}
		if f.has('c') {
			p.printf("%7d ", n)
		}
		p.print(last + "\n")
	}
	status := p.eachInput(names[:min(1, len(names))], func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			text := string(line)
			if n > 0 && (text == last || f.has('i') && strings.EqualFold(text, last)) {
				n++
				return true
			}
			flush()
			last, n = text, 1
			return true
		})
	})
	flush()
	return status
}
