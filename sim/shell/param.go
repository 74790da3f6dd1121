package shell

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// param adds a parameter expansion.
func (w *words) param(pe *syntax.ParamExp, q quoting) {
	v := w.sh.param(w, pe, q)
	switch {
	case v == nil: // the word of ${x:-word} was added
	case !v.list:
		w.result(v.text(), q)
	case v.star && q != unquoted || !w.split:
		sep := " "
		if ifs, ok := w.sh.variable("IFS"); ok && v.star {
			sep = firstRune(ifs)
		}
		w.grow(totalLen(v.elems))
		w.result(strings.Join(v.elems, sep), q)
	default:
		for i, elem := range v.elems {
			if i > 0 {
				w.end(q != unquoted)
			}
			if q != unquoted {
				w.started = true
			}
			w.result(elem, q)
		}
	}
}

func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

func totalLen(list []string) (n int) {
	for _, s := range list {
		n += len(s) + 1
	}
	return n
}

// param evaluates a parameter expansion. If it yields the word of ${x:-word},
// that is added to w with its own quoting and the result is nil.
func (sh *shell) param(w *words, pe *syntax.ParamExp, q quoting) *value {
	if pe.Param == nil || pe.Flags != nil || pe.Width || pe.IsSet || pe.NestedParam != nil || len(pe.Modifiers) > 0 {
		failExpansion("bad substitution")
	}
	name := pe.Param.Value
	if pe.Excl {
		if pe.Names != 0 {
			return sh.namesWithPrefix(name, pe.Names == syntax.NamesPrefix)
		}
		if index := literalIndex(pe); index == "@" || index == "*" {
			return sh.indexes(name, index == "*")
		}
		target, _ := sh.variable(name)
		if !syntax.ValidName(target) {
			failExpansion("%s: invalid indirect expansion", name)
		}
		name = target
	}
	v := sh.paramValue(name, pe)
	if pe.Exp != nil {
		switch pe.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			return sh.defaults(w, pe, name, v, q)
		}
	}
	if !v.set && sh.opt.nounset && !(v.list && !pe.Length) {
		failExpansion("%s: parameter not set", name)
	}
	switch {
	case pe.Length:
		n := utf8.RuneCountInString(v.text())
		if v.list {
			n = len(v.elems)
		}
		return &value{elems: []string{strconv.Itoa(n)}}
	case pe.Slice != nil:
		sh.slice(pe.Slice, name, &v)
	case pe.Repl != nil:
		pattern, with := sh.patternOf(pe.Repl.Orig), sh.text(pe.Repl.With)
		sh.each(&v, func(s string) string { return sh.replace(s, pattern, with, pe.Repl.All) })
	case pe.Exp != nil:
		sh.operate(pe.Exp, name, &v)
	}
	return &v
}

// each replaces the elements of a value.
func (sh *shell) each(v *value, f func(string) string) {
	elems := make([]string, len(v.elems))
	held := 0
	for i, s := range v.elems {
		sh.p.step(1 + len(s)/64)
		elems[i] = f(s)
		held += len(elems[i])
		sh.p.hold(len(elems[i]))
	}
	sh.p.hold(-held)
	v.elems = elems
}

// operate applies an operator that does not depend on whether the parameter is set.
func (sh *shell) operate(exp *syntax.Expansion, name string, v *value) {
	switch exp.Op {
	case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		pattern := sh.patternOf(exp.Word)
		sh.each(v, func(s string) string { return sh.trim(s, pattern, exp.Op) })
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		convert := unicode.ToLower
		if exp.Op == syntax.UpperFirst || exp.Op == syntax.UpperAll {
			convert = unicode.ToUpper
		}
		all := exp.Op == syntax.UpperAll || exp.Op == syntax.LowerAll
		pattern := sh.patternOf(exp.Word)
		sh.each(v, func(s string) string { return sh.convertCase(s, pattern, convert, all) })
	case syntax.OtherParamOps:
		switch op := sh.text(exp.Word); op {
		case "Q":
			sh.each(v, quote)
		case "U":
			sh.each(v, strings.ToUpper)
		case "L":
			sh.each(v, strings.ToLower)
		case "E":
			sh.each(v, ansiC)
		case "u":
			sh.each(v, func(s string) string { return sh.convertCase(s, "", unicode.ToUpper, false) })
		default:
			failExpansion("${%s@%s}: bad substitution", name, op)
		}
	default:
		failExpansion("%s: bad substitution", name)
	}
}

func (sh *shell) convertCase(s, pattern string, convert func(rune) rune, all bool) string {
	runes := []rune(s)
	for i, r := range runes {
		if pattern == "" || sh.p.match(pattern, string(r)) {
			runes[i] = convert(r)
		}
		if !all {
			break
		}
	}
	return string(runes)
}

// slice applies ${x:offset:length}.
func (sh *shell) slice(s *syntax.Slice, name string, v *value) {
	offset, length, hasLength := int64(0), int64(0), s.Length != nil
	if s.Offset != nil {
		offset = sh.arithm(s.Offset)
	}
	if hasLength {
		length = sh.arithm(s.Length)
	}
	bounds := func(n int64) (int64, int64) {
		from, to := offset, n
		if from < 0 {
			from += n
		}
		if from < 0 || from > n {
			return 0, 0
		}
		if hasLength && length < 0 {
			to = n + length
		} else if hasLength && length < n-from {
			to = from + length
		}
		if to < from {
			failExpansion("%s: substring expression < 0", name)
		}
		return from, to
	}
	if !v.list {
		runes := []rune(v.text())
		from, to := bounds(int64(len(runes)))
		v.elems = []string{string(runes[from:to])}
		return
	}
	elems := v.elems
	if name == "@" || name == "*" {
		elems = append([]string{sh.name}, elems...)
		if s.Offset == nil {
			offset = 1
		}
	}
	from, to := bounds(int64(len(elems)))
	v.elems = elems[from:to]
}
