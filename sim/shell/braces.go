package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
