package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// defaults evaluates ${x-…}, ${x+…}, ${x=…} and ${x?…}.
func (sh *shell) defaults(w *words, pe *syntax.ParamExp, name string, v value, q quoting) *value {
	has := v.set
	switch pe.Exp.Op {
	case syntax.AlternateUnsetOrNull, syntax.DefaultUnsetOrNull, syntax.ErrorUnsetOrNull, syntax.AssignUnsetOrNull:
		has = v.set && v.text() != ""
	}
	addWord := func() *value {
		if pe.Exp.Word == nil {
			return &value{elems: []string{""}}
		}
		w.defaultWord(pe.Exp.Word, q)
		return nil
	}
	switch pe.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if has {
			return addWord()
		}
		return &value{elems: []string{""}}
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if !has {
			return addWord()
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if !has {
			if !syntax.ValidName(name) {
				failExpansion("%s: bad variable name", name)
			}
			text := sh.assigned(pe.Exp.Word, q)
			sh.set(name, text)
			return &value{elems: []string{text}}
		}
	default:
		if !has {
			msg := sh.text(pe.Exp.Word)
			if msg == "" {
				msg = "parameter not set or null"
				if pe.Exp.Op == syntax.ErrorUnset {
					msg = "parameter not set"
				}
			}
			failExpansion("%s: %s", name, msg)
		}
	}
	return &v
}

// defaultWord adds the word of ${x:-word}: its literal text is split as the
// result of an expansion is.
func (w *words) defaultWord(word *syntax.Word, q quoting) {
	if q != unquoted {
		w.quotedWord(word, q)
		return
	}
	if !w.split {
		w.parts(word.Parts, q)
		return
	}
	for i, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.ContainsAny(lit.Value, " \t\n") && !strings.Contains(lit.Value, "\\") {
			text := lit.Value
			if i == 0 {
				text = w.tilde(text)
			}
			w.splitAdd(text)
			continue
		}
		w.parts([]syntax.WordPart{part}, q)
	}
}

// assigned expands the word of ${x:=word}.
func (sh *shell) assigned(word *syntax.Word, q quoting) string {
	if q == unquoted || word == nil {
		return sh.text(word)
	}
	w := words{sh: sh}
	w.quotedWord(word, q)
	sh.p.hold(-w.size)
	return w.raw.String()
}

// quotedWord adds the word of an expansion in double quotes or a here-document, where single
// quotes are characters as any other.
func (w *words) quotedWord(word *syntax.Word, q quoting) {
	for _, part := range word.Parts {
		single, ok := part.(*syntax.SglQuoted)
		if !ok || single.Dollar {
			w.parts([]syntax.WordPart{part}, q)
			continue
		}
		w.sh.p.step(1 + len(single.Value)/16)
		text, err := parseText(single.Value)
		if err != nil {
			failExpansion("%s", syntaxError(err))
		}
		w.add("'", true)
		w.parts(text.Parts, q)
		w.add("'", true)
	}
}
