package shell

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
)

func wc(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "lwcmL", map[string]byte{"lines": 'l', "words": 'w', "bytes": 'c', "chars": 'm'})
	if !ok {
		return 1
	}
	type sums struct{ lines, words, bytes, chars int }
	var total sums
	if len(f) == 0 {
		f = flags{'l': "", 'w': "", 'c': ""}
	}
	show := func(s sums, name string) {
		var cols []string
		for _, c := range []struct {
			flag byte
			n    int
		}{{'l', s.lines}, {'w', s.words}, {'m', s.chars}, {'c', s.bytes}} {
			if f.has(c.flag) {
				cols = append(cols, strconv.Itoa(c.n))
			}
		}
		width := 0
		if len(cols) > 1 {
			width = 9
		}
		for i, col := range cols {
			if i == 0 && len(cols) > 1 {
				p.printf("%*s", width, col)
			} else if i > 0 {
				p.printf(" %*s", width, col)
			} else {
				p.print(col)
			}
		}
		if name != "" {
			name = " " + name
		}
		p.print(name + "\n")
	}
	status := p.eachInput(names, func(name string, r io.Reader) error {
		var s sums
		inWord := false
		buf := make([]byte, 4<<10)
		for {
			n, err := r.Read(buf)
			s.bytes += n
			for _, c := range buf[:n] {
				if c == '\n' {
					s.lines++
				}
				if c&0xc0 != 0x80 {
					s.chars++
				}
				space := c == ' ' || c >= '\t' && c <= '\r'
				if !space && !inWord {
					s.words++
				}
				inWord = !space
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
		}
		total.lines, total.words, total.bytes, total.chars = total.lines+s.lines, total.words+s.words, total.bytes+s.bytes, total.chars+s.chars
		if len(names) == 0 {
			name = ""
		}
		show(s, name)
		return nil
	})
	if len(names) > 1 {
		show(total, "total")
	}
	return status
}

// ranges is a list such as 1,3-5,7-.
type ranges [][2]int

func parseRanges(s string) (list ranges, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		r := [2]int{1, 1 << 30}
		if from != "" {
			if r[0], err = strconv.Atoi(from); err != nil {
				return nil, err
			}
			if !isRange {
				r[1] = r[0]
			}
		}
		if to != "" {
			if r[1], err = strconv.Atoi(to); err != nil {
				return nil, err
			}
		}
		if part == "" || part == "-" || r[0] < 1 {
			return nil, fmt.Errorf("invalid range")
		}
		list = append(list, r)
	}
	return list, nil
}

func (list ranges) has(n int) bool {
	for _, r := range list {
		if n >= r[0] && n <= r[1] {
			return true
		}
	}
	return false
}

func cut(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "d:f:c:b:sO:n", map[string]byte{"delimiter": 'd', "fields": 'f', "characters": 'c', "bytes": 'b', "only-delimited": 's', "output-delimiter": 'O'})
	if !ok {
		return 1
	}
	spec := cmp.Or(f['f'], f['c'], f['b'])
	list, err := parseRanges(spec)
	if err != nil || spec == "" {
		return p.fail("expected a list of bytes, characters, or fields")
	}
	sep := "\t"
	if f.has('d') {
		sep = f['d']
	}
	join := sep
	if f.has('O') {
		join = f['O']
	}
	return p.eachInput(names, func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			text := string(line)
			var kept []string
			switch {
			case f.has('f') && (sep == "" || !strings.Contains(text, sep)):
				if f.has('s') {
					return true
				}
				kept = []string{text}
			case f.has('f'):
				for i, field := range strings.Split(text, sep) {
					if list.has(i + 1) {
						kept = append(kept, field)
					}
				}
			default:
				var b strings.Builder
				for i, c := range []rune(text) {
					if list.has(i + 1) {
						b.WriteRune(c)
					}
				}
				kept = []string{b.String()}
			}
			p.print(strings.Join(kept, join) + "\n")
			return true
		})
	})
}

// trSet expands a set of tr.
func trSet(s string) []byte {
	var set []byte
	one := func() byte {
		if s[0] == '\\' && len(s) > 1 {
			text, n, _ := escape(s, false)
			s = s[n:]
			if len(text) == 2 && text[0] == '\\' {
				return text[1]
			}
			if text == "" {
				return 0
			}
			return text[0]
		}
		c := s[0]
		s = s[1:]
		return c
	}
	for len(s) > 0 {
		if strings.HasPrefix(s, "[:") {
			if name, rest, ok := strings.Cut(s[2:], ":]"); ok && classes[name] != nil {
				for c := range 128 {
					if classes[name](rune(c)) {
						set = append(set, byte(c))
					}
				}
				s = rest
				continue
			}
		}
		c := one()
		if len(s) > 1 && s[0] == '-' {
			s = s[1:]
			to := one()
			for i := int(c); i <= int(to); i++ {
				set = append(set, byte(i))
			}
			continue
		}
		set = append(set, c)
	}
	return set
}

func tr(p *proc, args []string) int {
	f, sets, ok := p.parseFlags(args, "cCdst", nil)
	if !ok {
		return 1
	}
	if len(sets) == 0 || len(sets) == 1 && !f.has('d') && !f.has('s') {
		return p.fail("missing operand")
	}
	from := trSet(sets[0])
	if f.has('c') || f.has('C') {
		var rest []byte
		for c := range 256 {
			if bytes.IndexByte(from, byte(c)) < 0 {
				rest = append(rest, byte(c))
			}
		}
		from = rest
	}
	var table [256]byte
	for i := range table {
		table[i] = byte(i)
	}
	var in, squeeze [256]bool
	last := from
	if len(sets) > 1 {
		last = trSet(sets[1])
	}
	for i, c := range from {
		in[c] = true
		if len(sets) > 1 && len(last) > 0 && !f.has('d') {
			table[c] = last[min(i, len(last)-1)]
		}
	}
	for _, c := range last {
		squeeze[c] = f.has('s')
	}
	buf, before := make([]byte, 4<<10), -1
	for {
		n, err := p.stdin().Read(buf)
		out := make([]byte, 0, n)
		for _, c := range buf[:n] {
			if f.has('d') && in[c] {
				continue
			}
			c = table[c]
			if squeeze[c] && int(c) == before {
				continue
			}
			before = int(c)
			out = append(out, c)
		}
		if len(out) > 0 {
			if _, err := p.stdout().Write(out); err != nil {
				return p.fail("write error: %s", errText(err))
			}
		}
		if err != nil {
			return 0
		}
	}
}
