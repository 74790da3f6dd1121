package shell

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// exprParser evaluates the operands of expr.
type exprParser struct {
	p     *proc
	args  []string
	pos   int
	depth int
	err   string
}

func (e *exprParser) accept(ops ...string) string {
	if e.err == "" && e.pos < len(e.args) && slices.Contains(ops, e.args[e.pos]) {
		e.pos++
		return e.args[e.pos-1]
	}
	return ""
}

func (e *exprParser) or() string {
	v := e.and()
	for e.accept("|") != "" {
		if right := e.and(); v == "" || v == "0" {
			v = right
		}
	}
	return v
}

func (e *exprParser) and() string {
	v := e.comparison()
	for e.accept("&") != "" {
		if right := e.comparison(); v == "" || v == "0" || right == "" || right == "0" {
			v = "0"
		}
	}
	return v
}

func (e *exprParser) comparison() string {
	v := e.sum()
	for {
		op := e.accept("=", "==", "!=", "<", "<=", ">", ">=")
		if op == "" {
			return v
		}
		right := e.sum()
		n := strings.Compare(v, right)
		a, err1 := strconv.ParseInt(v, 10, 64)
		b, err2 := strconv.ParseInt(right, 10, 64)
		if err1 == nil && err2 == nil {
			n = cmp.Compare(a, b)
		}
		v = strconv.FormatInt(truth(map[string]bool{"=": n == 0, "==": n == 0, "!=": n != 0, "<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[op]), 10)
	}
}

func (e *exprParser) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && e.err == "" {
		e.err = "non-integer argument"
	}
	return n
}

func (e *exprParser) sum() string {
	v := e.product()
	for {
		switch e.accept("+", "-") {
		case "+":
			v = strconv.FormatInt(e.number(v)+e.number(e.product()), 10)
		case "-":
			v = strconv.FormatInt(e.number(v)-e.number(e.product()), 10)
		default:
			return v
		}
	}
}

func (e *exprParser) product() string {
	v := e.match()
	for {
		op := e.accept("*", "/", "%")
		if op == "" {
			return v
		}
		a, b := e.number(v), e.number(e.match())
		switch {
		case op == "*":
			a *= b
		case b == 0:
			if e.err == "" {
				e.err = "division by zero"
			}
		case op == "/":
			a /= b
		default:
			a %= b
		}
		v = strconv.FormatInt(a, 10)
	}
}

func (e *exprParser) match() string {
	v := e.primary()
	for e.accept(":") != "" {
		v = e.regexp(v, e.primary())
	}
	return v
}

func (e *exprParser) regexp(s, pattern string) string {
	translated, err := translateRegexp(pattern, false)
	if err != nil {
		e.err = err.Error()
		return ""
	}
	re, err := compileRegexp(e.p, "^(?:"+translated+")")
	if err != nil {
		e.err = err.Error()
		return ""
	}
	if !re.charge(e.p, len(s)) {
		e.err = "argument too long for this regular expression in the simulation"
		return ""
	}
	m := re.re.FindStringSubmatchIndex(s)
	if re.re.NumSubexp() > 0 {
		if m == nil {
			return ""
		}
		return group(s, m, 1)
	}
	if m == nil {
		return "0"
	}
	return strconv.Itoa(len([]rune(s[m[0]:m[1]])))
}

func (e *exprParser) primary() string {
	if e.err != "" || e.pos >= len(e.args) {
		if e.err == "" {
			e.err = "syntax error"
		}
		return ""
	}
	e.p.step(1)
	arg := e.args[e.pos]
	e.pos++
	switch arg {
	case "(":
		if e.depth++; e.depth > 50 {
			e.err = "nested too deeply"
			return ""
		}
		v := e.or()
		e.depth--
		if e.accept(")") == "" && e.err == "" {
			e.err = "syntax error"
		}
		return v
	case "length":
		if e.pos < len(e.args) {
			return strconv.Itoa(len([]rune(e.next())))
		}
	case "match":
		if e.pos+1 < len(e.args) {
			s := e.next()
			return e.regexp(s, e.next())
		}
	case "index":
		if e.pos+1 < len(e.args) {
			s := e.next()
			return strconv.Itoa(strings.IndexAny(s, e.next()) + 1)
		}
	case "substr":
		if e.pos+2 < len(e.args) {
			s := []rune(e.next())
			from := e.number(e.next())
			n := e.number(e.next())
			if from < 1 || n < 1 || from > int64(len(s)) {
				return ""
			}
			return string(s[from-1 : min(int64(len(s)), from-1+min(n, int64(len(s))))])
		}
	}
	return arg
}

func (e *exprParser) next() string {
	e.pos++
	return e.args[e.pos-1]
}
