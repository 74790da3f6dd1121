package shell

import (
	"bytes"
	"strings"
)

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
	f, sets := p.parseFlags(args, "cCds", nil)
	if len(sets) == 0 || len(sets) == 1 && !f.has('d') && !f.has('s') {
		return p.fail("missing operand")
	}
	t := newTranslation(f, sets)
	buf, before := make([]byte, 4<<10), -1
	for {
		n, err := p.stdin().Read(buf)
		out := make([]byte, 0, n)
		for _, c := range buf[:n] {
			if t.deleted[c] {
				continue
			}
			c = t.to[c]
			if t.squeezed[c] && int(c) == before {
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

// translation is what tr does to each byte.
type translation struct {
	deleted  [256]bool
	to       [256]byte
	squeezed [256]bool // repetitions of it are removed
}

func newTranslation(f flags, sets []string) *translation {
	t := &translation{}
	for i := range t.to {
		t.to[i] = byte(i)
	}
	from := trSet(sets[0])
	if f.has('c') || f.has('C') {
		from = complement(from)
	}
	last := from
	if len(sets) > 1 {
		last = trSet(sets[1])
	}
	for i, c := range from {
		t.deleted[c] = f.has('d')
		if len(sets) > 1 && len(last) > 0 && !f.has('d') {
			t.to[c] = last[min(i, len(last)-1)]
		}
	}
	for _, c := range last {
		t.squeezed[c] = f.has('s')
	}
	return t
}

// complement returns the bytes that a set does not have.
func complement(set []byte) (rest []byte) {
	for c := range 256 {
		if bytes.IndexByte(set, byte(c)) < 0 {
			rest = append(rest, byte(c))
		}
	}
	return rest
}
