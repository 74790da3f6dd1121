package shell

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sortKey is a part of a line and how it is compared.
type sortKey struct {
	sep              string
	from, to         sortPosition
	numeric, general bool
	human, version   bool
	fold, dictionary bool
	reversed         bool
	skipFrom, skipTo bool // blanks do not count
	hasOptions       bool
}

// sortPosition is where a key begins or ends: a field and a character in it, both from 1.
// Field 0 is that of the whole line, character 0 the last one.
type sortPosition struct{ field, char int }

// option sets what an option says, if it is one of those of a key.
func (k *sortKey) option(c byte) {
	switch c {
	case 'n':
		k.numeric = true
	case 'g':
		k.general = true
	case 'h':
		k.human = true
	case 'V':
		k.version = true
	case 'f':
		k.fold = true
	case 'd':
		k.dictionary = true
	case 'r':
		k.reversed = true
	case 'b':
		k.skipFrom, k.skipTo = true, true
	default:
		return
	}
	k.hasOptions = true
}

// parseSortKey parses F[.C][OPTIONS][,F[.C][OPTIONS]]. A key without options has those of the
// whole line.
func parseSortKey(text string, whole sortKey) (sortKey, error) {
	k := sortKey{sep: whole.sep}
	from, to, hasTo := strings.Cut(text, ",")
	ok := k.position(from, &k.from, 1, &k.skipFrom)
	if hasTo {
		ok = ok && k.position(to, &k.to, 0, &k.skipTo)
	}
	if !ok {
		return k, fmt.Errorf("bad field specification '%s'", text)
	}
	if !k.hasOptions {
		from, to := k.from, k.to
		k = whole
		k.from, k.to = from, to
	}
	return k, nil
}

// position parses where a key begins or ends; least is the least character.
func (k *sortKey) position(s string, at *sortPosition, least int, skip *bool) bool {
	number := strings.TrimRight(s, "bdfghnrV")
	for i := len(number); i < len(s); i++ {
		if s[i] == 'b' {
			*skip, k.hasOptions = true, true
			continue
		}
		k.option(s[i])
	}
	field, char, hasChar := strings.Cut(number, ".")
	var errField, errChar error
	at.field, errField = strconv.Atoi(field)
	at.char = least
	if hasChar {
		at.char, errChar = strconv.Atoi(char)
	}
	return errField == nil && errChar == nil && at.field >= 1 && at.char >= least
}

// of returns the part of a line that is the key.
func (k *sortKey) of(line string) string {
	from, to := 0, len(line)
	if k.from.field > 0 {
		from = k.skipFields(line, k.from.field-1)
	}
	if k.skipFrom {
		from = skipBlanks(line, from)
	}
	from = min(len(line), from+max(0, k.from.char-1))
	switch {
	case k.to.field == 0:
	case k.to.char == 0:
		to = k.endOfField(line, k.to.field)
	default:
		to = k.skipFields(line, k.to.field-1)
		if k.skipTo {
			to = skipBlanks(line, to)
		}
		to = min(len(line), to+k.to.char)
	}
	return line[from:max(from, to)]
}

// skipFields returns where the field after the first n begins. Without a separator, a field
// begins with the blanks in front of it.
func (k *sortKey) skipFields(line string, n int) int {
	at := k.endOfField(line, n)
	if n > 0 && k.sep != "" && at < len(line) {
		at += len(k.sep)
	}
	return at
}

// endOfField returns where the field number n ends.
func (k *sortKey) endOfField(line string, n int) int {
	at := 0
	for i := 0; i < n && at < len(line); i++ {
		if k.sep == "" {
			at = skipBlanks(line, at)
			for at < len(line) && !isBlank(line[at]) {
				at++
			}
			continue
		}
		if i > 0 {
			at += len(k.sep)
		}
		length := strings.Index(line[at:], k.sep)
		if length < 0 {
			return len(line)
		}
		at += length
	}
	return at
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func skipBlanks(s string, at int) int {
	for at < len(s) && isBlank(s[at]) {
		at++
	}
	return at
}

func (k *sortKey) compare(a, b string) int {
	a, b = k.of(a), k.of(b)
	n := 0
	switch {
	case k.human:
		n = cmp.Compare(leadingNumber(a, true), leadingNumber(b, true))
	case k.numeric:
		n = cmp.Compare(leadingNumber(a, false), leadingNumber(b, false))
	case k.general:
		n = cmp.Compare(generalNumber(a), generalNumber(b))
	case k.version:
		n = compareVersions(a, b)
	default:
		n = strings.Compare(k.text(a), k.text(b))
	}
	if k.reversed {
		n = -n
	}
	return n
}

// text returns what of a key is compared as text.
func (k *sortKey) text(s string) string {
	if k.dictionary {
		s = strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' || r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' {
				return r
			}
			return -1
		}, s)
	}
	if k.fold {
		s = strings.ToUpper(s)
	}
	return s
}

// leadingNumber returns the number that a string begins with.
func leadingNumber(s string, human bool) float64 {
	s = strings.TrimLeft(s, " \t")
	end := numberEnd(s)
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

// generalNumber is leadingNumber for numbers that may have an exponent. Text that does
// not begin with a number is less than all numbers.
func generalNumber(s string) float64 {
	if x, ok := leadingFloat(s); ok {
		return x
	}
	return math.Inf(-1)
}

// numberEnd returns where the number ends that a string begins with.
func numberEnd(s string) int {
	end := 0
	for dot := false; end < len(s); end++ {
		switch c := s[end]; {
		case c >= '0' && c <= '9', c == '-' && end == 0:
		case c == '.' && !dot:
			dot = true
		default:
			return end
		}
	}
	return end
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
