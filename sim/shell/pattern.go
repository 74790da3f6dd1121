package shell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// match reports whether a pattern matches all of a string. Each comparison is a
// step, as patterns can take long.
func (p *proc) match(pattern, s string) bool {
	star, resume := -1, 0 // the last *, and from where it matches one more character
	pi, si := 0, 0
	for si < len(s) || pi < len(pattern) {
		p.step(1)
		if pi < len(pattern) && pattern[pi] == '*' {
			star, resume = pi, si
			pi++
			continue
		}
		if pi < len(pattern) && si < len(s) {
			if np, ns, ok := matchOne(pattern[pi:], s[si:]); ok {
				pi += np
				si += ns
				continue
			}
		}
		if star < 0 || resume >= len(s) {
			return false
		}
		_, n := utf8.DecodeRuneInString(s[resume:])
		resume += n
		pi, si = star+1, resume
	}
	return true
}

// matchOne matches one character with the first element of a pattern, which is
// not *, and returns the lengths of both.
func matchOne(pattern, s string) (np, ns int, ok bool) {
	r, ns := utf8.DecodeRuneInString(s)
	switch pattern[0] {
	case '?':
		return 1, ns, true
	case '[':
		if np, ok, valid := matchClass(pattern, r); valid {
			return np, ns, ok
		}
	case '\\':
		if len(pattern) > 1 {
			c, n := utf8.DecodeRuneInString(pattern[1:])
			return 1 + n, ns, c == r && (c != utf8.RuneError || pattern[1] == s[0])
		}
	}
	c, n := utf8.DecodeRuneInString(pattern)
	return n, ns, c == r && (c != utf8.RuneError || pattern[0] == s[0])
}

// classes are the character classes of [[:name:]].
var classes = map[string]func(rune) bool{
	"alpha": unicode.IsLetter, "digit": unicode.IsDigit, "upper": unicode.IsUpper, "lower": unicode.IsLower, "space": unicode.IsSpace,
	"alnum": func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) },
	"punct": func(r rune) bool { return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r) },
	"blank": func(r rune) bool { return r == ' ' || r == '\t' },
	"cntrl": unicode.IsControl,
	"print": unicode.IsPrint,
	"graph": unicode.IsGraphic,
	"xdigit": func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
	},
}

// matchClass matches a bracket expression; valid is false if it has no end.
func matchClass(pattern string, r rune) (n int, ok, valid bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, ok != negated, true
		}
		if strings.HasPrefix(pattern[i:], "[:") {
			if name, _, found := strings.Cut(pattern[i+2:], ":]"); found && classes[name] != nil {
				ok = ok || classes[name](r)
				i += len(name) + 4
				continue
			}
		}
		lo, w := classRune(pattern[i:])
		i += w
		hi := lo
		if i+1 < len(pattern) && pattern[i] == '-' && pattern[i+1] != ']' {
			hi, w = classRune(pattern[i+1:])
			i += 1 + w
		}
		ok = ok || lo <= r && r <= hi
	}
	return 0, false, false
}

func classRune(s string) (rune, int) {
	if s[0] == '\\' && len(s) > 1 {
		r, n := utf8.DecodeRuneInString(s[1:])
		return r, n + 1
	}
	return utf8.DecodeRuneInString(s)
}

// plainPattern returns the text of a pattern without special characters.
func plainPattern(pattern string) (string, bool) {
	if strings.ContainsAny(pattern, "*?[") && strings.IndexByte(pattern, '\\') < 0 {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			if i++; i == len(pattern) {
				i--
			}
		}
		b.WriteByte(pattern[i])
	}
	return b.String(), true
}

// isPattern reports whether a pattern has special characters; a [ without its ] is none.
func isPattern(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*', '?':
			return true
		case '[':
			if _, _, valid := matchClass(pattern[i:], 0); valid {
				return true
			}
		case '\\':
			i++
		}
	}
	return false
}

// refuseExtended fails for a pattern that is special with extglob, such as +(a|b).
func refuseExtended(pattern string) {
	for i := 0; i+1 < len(pattern); i++ {
		switch {
		case pattern[i] == '\\':
			i++
		case pattern[i+1] == '(' && strings.IndexByte("?*+@!", pattern[i]) >= 0:
			failExpansion("the pattern %c(…) is not simulated", pattern[i])
		}
	}
}

// trim removes a prefix or suffix that matches a pattern.
func (sh *shell) trim(s, pattern string, op syntax.ParExpOperator) string {
	if plain, ok := plainPattern(pattern); ok {
		if op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix {
			return strings.TrimPrefix(s, plain)
		}
		return strings.TrimSuffix(s, plain)
	}
	try := func(i int) (string, bool) {
		if i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
			return "", false
		}
		if op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix {
			return s[i:], sh.p.match(pattern, s[:i])
		}
		return s[:i], sh.p.match(pattern, s[i:])
	}
	up := op == syntax.RemSmallPrefix || op == syntax.RemLargeSuffix
	for k := range len(s) + 1 {
		i := k
		if !up {
			i = len(s) - k
		}
		if rest, ok := try(i); ok {
			return rest
		}
	}
	return s
}

// replace replaces the first or all longest matches of a pattern.
func (sh *shell) replace(s, pattern, with string, all bool) string {
	if pattern == "" {
		return s
	}
	var prefix, suffix bool
	switch pattern[0] {
	case '#':
		prefix, pattern = true, pattern[1:]
	case '%':
		suffix, pattern = true, pattern[1:]
	}
	var b strings.Builder
	held := 0
	add := func(text string) {
		held += len(text)
		sh.p.hold(len(text))
		b.WriteString(text)
	}
	for i := 0; i <= len(s); {
		sh.p.step(1)
		n := -1
		if !suffix || sh.p.match(pattern, s[i:]) {
			n = sh.longest(pattern, s[i:], suffix)
		}
		if n > 0 || n == 0 && (prefix || suffix) {
			add(with)
			i += n
			if !all || prefix || suffix {
				add(s[i:])
				break
			}
			continue
		}
		if prefix || i == len(s) {
			add(s[i:])
			break
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		add(s[i : i+w])
		i += w
	}
	sh.p.hold(-held)
	return b.String()
}

// longest returns the length of the longest prefix that matches, or -1.
func (sh *shell) longest(pattern, s string, whole bool) int {
	if whole {
		return len(s)
	}
	if plain, ok := plainPattern(pattern); ok {
		if strings.HasPrefix(s, plain) {
			return len(plain)
		}
		return -1
	}
	if !strings.Contains(pattern, "*") { // it matches a fixed number of characters
		pi, si := 0, 0
		for pi < len(pattern) {
			if si == len(s) {
				return -1
			}
			np, ns, ok := matchOne(pattern[pi:], s[si:])
			if !ok {
				return -1
			}
			pi += np
			si += ns
		}
		return si
	}
	for n := len(s); n >= 0; n-- {
		if sh.p.match(pattern, s[:n]) {
			return n
		}
	}
	return -1
}

// mostMatches bounds the file names that one pattern yields.
const mostMatches = 10_000

// glob returns the names of the files that match a pattern, sorted.
func (p *proc) glob(pattern string) []string {
	found := []string{""}
	if strings.HasPrefix(pattern, "/") {
		found[0] = "/"
	}
	elems := split(pattern)
	for i, elem := range elems {
		last := i == len(elems)-1
		var next []string
		for _, dir := range found {
			next = append(next, p.globIn(dir, elem, last && !strings.HasSuffix(pattern, "/"))...)
			if len(next) > mostMatches {
				failExpansion("pattern matches more than %d files", mostMatches)
			}
		}
		found = next
	}
	slices.Sort(found)
	return found
}

// globIn returns the entries of a directory that match one element of a
// pattern; directories get a slash unless it is the last element.
func (p *proc) globIn(dir, elem string, last bool) (found []string) {
	suffix := "/"
	if last {
		suffix = ""
	}
	p.step(8)
	if plain, ok := plainPattern(elem); ok {
		if _, err := p.m.fs.stat(p.cred, p.abs(dir+plain), !last); err == nil {
			found = append(found, dir+plain+suffix)
		}
		return found
	}
	at := dir
	if at == "" {
		at = "."
	}
	entries, err := p.m.fs.readDir(p.cred, p.abs(at))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		p.step(1)
		if strings.HasPrefix(e.name, ".") && elem[0] != '.' && !strings.HasPrefix(elem, `\.`) || !p.match(elem, e.name) {
			continue
		}
		if !last {
			if info, err := p.m.fs.stat(p.cred, p.abs(dir+e.name), true); err != nil || !info.IsDir() {
				continue
			}
		}
		found = append(found, dir+e.name+suffix)
	}
	return found
}
