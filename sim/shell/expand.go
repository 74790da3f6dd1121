package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expandError is the panic of an expansion that fails: it ends the shell, as
// POSIX asks for, unless the shell is interactive.
type expandError struct{ msg string }

func failExpansion(format string, args ...any) {
	panic(expandError{fmt.Sprintf(format, args...)})
}

// quoting says how the text of a word part is quoted.
type quoting int

const (
	unquoted quoting = iota
	doubleQuoted
	hereDoc
)

// words collects the fields that words expand to.
type words struct {
	sh *shell
	// split says that results of unquoted expansions are split and that fields
	// are patterns of file names.
	split  bool
	fields []string
	size   int

	raw, pattern strings.Builder // of the current field
	started      bool            // it exists, even if it is empty
	glob         bool            // it has an unquoted *, ? or [
	spaceEnded   bool            // the last field was ended by white space of IFS
}

// fields expands words to the arguments of a command.
func (sh *shell) fields(list []*syntax.Word) []string {
	w := words{sh: sh, split: true}
	for _, word := range list {
		sh.p.step(1)
		if n := braceCount(word); !sh.bash || n == 0 || n > maxNestedBraces {
			w.word(word)
			continue
		}
		braced := *word
		if !syntax.SplitBraces(&braced) {
			w.word(word)
			continue
		}
		sh.braces(&braced, w.word)
	}
	sh.p.hold(-w.size)
	return w.fields
}

// maxNestedBraces is how many opening braces a word may have to be expanded:
// what the parser's library does with nested ones grows with their square.
const maxNestedBraces = 50

// braceCount counts the unquoted opening braces of a word.
func braceCount(word *syntax.Word) (n int) {
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// text expands a word to one string: no splitting, no file names.
func (sh *shell) text(word *syntax.Word) string {
	raw, _ := sh.textAndPattern(word, unquoted)
	return raw
}

// patternOf expands a word to a pattern in which quoted characters are escaped.
func (sh *shell) patternOf(word *syntax.Word) string {
	_, pattern := sh.textAndPattern(word, unquoted)
	return pattern
}

func (sh *shell) textAndPattern(word *syntax.Word, q quoting) (raw, pattern string) {
	if word == nil {
		return "", ""
	}
	w := words{sh: sh}
	w.parts(word.Parts, q)
	sh.p.hold(-w.size)
	return w.raw.String(), w.pattern.String()
}

func (w *words) word(word *syntax.Word) {
	w.parts(word.Parts, unquoted)
	w.end(false)
	w.spaceEnded = false
}

func (w *words) parts(parts []syntax.WordPart, q quoting) {
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text := part.Value
			if i == 0 && q == unquoted && w.raw.Len() == 0 {
				text = w.tilde(text)
			}
			w.literal(text, q)
		case *syntax.SglQuoted:
			text := part.Value
			if part.Dollar {
				text = ansiC(text)
			}
			w.add(text, true)
			w.started = true
		case *syntax.DblQuoted:
			if !onlyList(part.Parts) {
				w.started = true
			}
			w.parts(part.Parts, doubleQuoted)
		default:
			w.expansion(part, q)
		}
	}
}

// onlyList reports whether double quotes contain nothing but "$@": without
// parameters that is no field at all.
func onlyList(parts []syntax.WordPart) bool {
	if len(parts) != 1 {
		return false
	}
	pe, ok := parts[0].(*syntax.ParamExp)
	return ok && pe.Param != nil && !pe.Length && (pe.Param.Value == "@" || literalIndex(pe) == "@")
}

func (w *words) expansion(part syntax.WordPart, q quoting) {
	switch part := part.(type) {
	case *syntax.ParamExp:
		w.param(part, q)
	case *syntax.CmdSubst:
		w.result(w.sh.substitute(part), q)
	case *syntax.ArithmExp:
		w.result(strconv.FormatInt(w.sh.arithm(part.X), 10), q)
	case *syntax.ExtGlob:
		w.add(part.Op.String()+part.Pattern.Value+")", false)
	case *syntax.ProcSubst:
		failExpansion("process substitution is not simulated")
	case *syntax.BraceExp:
		failExpansion("nested brace expansion is not simulated")
	default:
		failExpansion("%T is not simulated", part)
	}
}

// result adds the result of an expansion.
func (w *words) result(s string, q quoting) {
	if q == unquoted && w.split {
		w.splitAdd(s)
		return
	}
	w.add(s, q != unquoted)
}

// literal adds literal text with its backslashes.
func (w *words) literal(s string, q quoting) {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i == len(s)-1 {
			w.add(s, q != unquoted)
			return
		}
		w.add(s[:i], q != unquoted)
		next := s[i+1]
		s = s[i+2:]
		switch {
		case q == unquoted, next == '\\', next == '$', next == '`', next == '"' && q == doubleQuoted:
			n := 0
			for n < len(s) && next >= 0x80 && s[n]&0xc0 == 0x80 {
				n++ // the rest of a character in UTF-8
			}
			w.add(string(append([]byte{next}, s[:n]...)), true)
			s = s[n:]
		case next == '\n':
		default:
			w.add("\\", true)
			s = string([]byte{next}) + s
		}
	}
}

// add adds text to the current field.
func (w *words) add(s string, quoted bool) {
	if s == "" {
		return
	}
	w.started = true
	w.spaceEnded = false
	w.grow(len(s))
	w.raw.WriteString(s)
	if !quoted {
		w.glob = w.glob || strings.ContainsAny(s, "*?[")
		w.pattern.WriteString(s)
		return
	}
	w.pattern.WriteString(escapePattern(s))
}

// grow counts memory of the expansion.
func (w *words) grow(n int) {
	w.size += 2 * n
	w.sh.p.hold(2 * n)
	w.sh.p.step(n / 256)
}

// escapePattern quotes the characters that are special in a pattern.
func escapePattern(s string) string {
	if !strings.ContainsAny(s, `*?[]\!^-()|+@`) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`*?[]\!^-()|+@`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// splitAdd adds the result of an unquoted expansion, split at IFS.
func (w *words) splitAdd(s string) {
	ifs := " \t\n"
	if v, ok := w.sh.lookup("IFS"); ok {
		ifs = v
	}
	from := 0
	for i := range len(s) {
		if strings.IndexByte(ifs, s[i]) < 0 {
			continue
		}
		w.add(s[from:i], false)
		from = i + 1
		switch space := s[i] == ' ' || s[i] == '\t' || s[i] == '\n'; {
		case space && w.started:
			w.end(false)
			w.spaceEnded = true
		case space:
		case w.spaceEnded:
			w.spaceEnded = false
		default:
			w.started = true
			w.end(false)
		}
	}
	w.add(s[from:], false)
}

// fieldCost is what a field costs in memory beside its text.
const fieldCost = 48

// end ends the current field. With more, another one begins even if it is empty.
func (w *words) end(more bool) {
	if w.started {
		w.grow(fieldCost / 2)
		w.sh.p.step(1)
		raw, pattern := w.raw.String(), w.pattern.String()
		if !w.glob || !w.split || w.sh.opt.noglob || !w.globbed(pattern) {
			w.fields = append(w.fields, raw)
		}
	}
	w.raw.Reset()
	w.pattern.Reset()
	w.started, w.glob = more, false
}

// globbed adds the names of files that match a pattern and reports whether
// there are any.
func (w *words) globbed(pattern string) bool {
	names := w.sh.p.glob(pattern)
	for _, name := range names {
		w.grow(len(name) + 16)
	}
	w.fields = append(w.fields, names...)
	return len(names) > 0
}

// tilde expands a tilde prefix; the rest is returned.
func (w *words) tilde(s string) string {
	if !strings.HasPrefix(s, "~") {
		return s
	}
	user, rest := s[1:], ""
	if i := strings.IndexByte(user, '/'); i >= 0 {
		user, rest = user[:i], user[i:]
	}
	home := ""
	switch user {
	case "":
		home, _ = w.sh.lookup("HOME")
	case "+":
		home, _ = w.sh.lookup("PWD")
	case "-":
		home, _ = w.sh.lookup("OLDPWD")
	default:
		if entry, ok := w.sh.p.m.userByName(user); ok {
			home = entry.home
		}
	}
	if home == "" {
		return s
	}
	w.add(home, true)
	return rest
}

// ansiC expands the escapes of $'…'.
func ansiC(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] != '\\' || len(s) == 1 {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		text, n, _ := escape(s, false)
		b.WriteString(text)
		s = s[n:]
	}
	text, _, _ := strings.Cut(b.String(), "\x00")
	return text
}

// escape expands the escape sequence that s begins with and returns how long it
// is; stop is \c. With echo, octal numbers begin with 0.
func escape(s string, echo bool) (text string, n int, stop bool) {
	simple := map[byte]string{'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': "\\", '\'': "'", '"': `"`, '?': "?"}
	c := s[1]
	if text, ok := simple[c]; ok && !(echo && strings.IndexByte(`'"?`, c) >= 0) {
		return text, 2, false
	}
	digits := func(from, most, base int) (uint64, int) {
		end := from
		for end < len(s) && end < from+most {
			if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
				break
			}
			end++
		}
		v, _ := strconv.ParseUint(s[from:end], base, 32)
		return v, end
	}
	switch {
	case c == 'c' && echo:
		return "", 2, true
	case c == 'x':
		if v, end := digits(2, 2, 16); end > 2 {
			return string([]byte{byte(v)}), end, false
		}
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if v, end := digits(2, most, 16); end > 2 {
			return string(rune(v)), end, false
		}
	case echo && c == '0':
		v, end := digits(2, 3, 8)
		return string([]byte{byte(v)}), end, false
	case !echo && c >= '0' && c <= '7':
		v, end := digits(1, 3, 8)
		return string([]byte{byte(v)}), end, false
	}
	return s[:2], 2, false
}

// mostBraces bounds the words of one brace expansion.
const mostBraces = 16 << 10

// braces expands a word with braces into words.
func (sh *shell) braces(word *syntax.Word, yield func(*syntax.Word)) {
	count := 0
	var rec func(done, rest []syntax.WordPart)
	rec = func(done, rest []syntax.WordPart) {
		sh.p.step(2)
		for i, part := range rest {
			brace, ok := part.(*syntax.BraceExp)
			if !ok {
				continue
			}
			done = append(done[:len(done):len(done)], rest[:i]...)
			after := rest[i+1:]
			if brace.Sequence {
				sh.sequence(brace, func(lit string) {
					rec(append(done[:len(done):len(done)], &syntax.Lit{Value: lit}), after)
				})
				return
			}
			for _, elem := range brace.Elems {
				rec(done, append(elem.Parts[:len(elem.Parts):len(elem.Parts)], after...))
			}
			return
		}
		if count++; count > mostBraces {
			failExpansion("brace expansion makes more than %d words", mostBraces)
		}
		yield(&syntax.Word{Parts: append(done[:len(done):len(done)], rest...)})
	}
	rec(nil, word.Parts)
}

// sequence calls yield for each element of {from..to..step}.
func (sh *shell) sequence(brace *syntax.BraceExp, yield func(string)) {
	from, to := brace.Elems[0].Lit(), brace.Elems[1].Lit()
	a, err1 := strconv.ParseInt(from, 10, 32)
	b, err2 := strconv.ParseInt(to, 10, 32)
	format := func(n int64) string { return strconv.FormatInt(n, 10) }
	if err1 != nil || err2 != nil {
		if len(from) != 1 || len(to) != 1 {
			failExpansion("bad brace expansion {%s..%s}", from, to)
		}
		a, b = int64(from[0]), int64(to[0])
		format = func(n int64) string { return string(rune(n)) }
	} else if width := max(len(from), len(to)); paddedNumber(from) || paddedNumber(to) {
		format = func(n int64) string { return fmt.Sprintf("%0*d", min(width, 64), n) }
	}
	step := int64(1)
	if len(brace.Elems) > 2 {
		if n, err := strconv.ParseInt(brace.Elems[2].Lit(), 10, 32); err == nil && n != 0 {
			step = max(n, -n)
		}
	}
	for n, count := a, 0; ; count++ {
		if a <= b && n > b || a > b && n < b {
			return
		}
		if count > mostBraces {
			failExpansion("brace expansion makes more than %d words", mostBraces)
		}
		yield(format(n))
		if a <= b {
			n += step
		} else {
			n -= step
		}
	}
}

func paddedNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}
