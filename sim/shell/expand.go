package shell

import (
	"fmt"
	"slices"
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

// text expands a word to one string: no splitting, no file names.
func (sh *shell) text(word *syntax.Word) string {
	raw, _ := sh.textAndPattern(word, unquoted)
	return raw
}

// patternOf expands a word to a pattern in which quoted characters are escaped.
func (sh *shell) patternOf(word *syntax.Word) string {
	_, pattern := sh.textAndPattern(word, unquoted)
	if slices.Contains(sh.shopts, "extglob") {
		refuseExtended(pattern)
	}
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
		failExpansion("the pattern %s…) is not simulated", part.Op)
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
	if v, ok := w.sh.variable("IFS"); ok {
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
// they replace it.
func (w *words) globbed(pattern string) bool {
	names := w.sh.p.glob(pattern)
	for _, name := range names {
		w.grow(len(name) + 16)
	}
	w.fields = append(w.fields, names...)
	return len(names) > 0 || slices.Contains(w.sh.shopts, "nullglob") && isPattern(pattern)
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
		home, _ = w.sh.variable("HOME")
	case "+":
		home, _ = w.sh.variable("PWD")
	case "-":
		home, _ = w.sh.variable("OLDPWD")
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
