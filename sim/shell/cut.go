package shell

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
	f, names := p.parseFlags(args, "d:f:c:b:sO:n", map[string]byte{"delimiter": 'd', "fields": 'f', "characters": 'c', "bytes": 'b', "only-delimited": 's', "output-delimiter": 'O'})
	spec := cmp.Or(f['f'], f['c'], f['b'])
	list, err := parseRanges(spec)
	if err != nil || spec == "" {
		return p.fail("expected a list of bytes, characters, or fields")
	}
	sep := "\t"
	if f.has('d') {
		sep = f['d']
	}
	if utf8.RuneCountInString(sep) > 1 {
		return p.fail("the delimiter must be a single character")
	}
	join := sep
	if f.has('O') {
		join = f['O']
	}
	return p.eachLine(names, func(line []byte) {
		text := string(line)
		var kept []string
		switch {
		case f.has('f') && (sep == "" || !strings.Contains(text, sep)):
			if f.has('s') {
				return
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
	})
}
