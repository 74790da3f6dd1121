package shell

import (
	"math"
	"strings"
)

func awkBool(b bool) awkValue { return awkNum(float64(truth(b))) }

// eval evaluates an expression.
func (r *awkRun) eval(n *awkNode) awkValue {
	r.p.step(1)
	switch n.op {
	case "number":
		return awkNum(n.num)
	case "string":
		return awkStr(n.text)
	case "regexp":
		return awkBool(r.regexp(n.text).matches(r.p, r.field(0).s))
	case "group":
		return r.eval(n.args[0])
	case "var":
		if n.text == "NF" {
			r.splitFields()
		}
		if v, ok := r.vars[n.text]; ok {
			return v
		}
		return awkUnset
	case "index":
		v, ok := r.array(n.text)[r.key(n)]
		if !ok {
			v = awkUnset
			r.assign(n, v)
		}
		return v
	case "field":
		return r.field(int(max(-1, min(r.eval(n.args[0]).number(), 1e6))))
	case "?":
		if r.eval(n.args[0]).truth() {
			return r.eval(n.args[1])
		}
		return r.eval(n.args[2])
	case "in":
		key := ""
		if n.args[0].op == "list" {
			key = r.key(n.args[0])
		} else {
			key = r.eval(n.args[0]).text()
		}
		_, ok := r.arrays[n.text][key]
		return awkBool(ok)
	case "concat":
		a, b := r.eval(n.args[0]).text(), r.eval(n.args[1]).text()
		r.p.hold(len(a) + len(b))
		defer r.p.hold(-len(a) - len(b))
		return awkStr(a + b)
	case "assign":
		v := r.eval(n.args[1])
		if n.text != "" {
			v = awkNum(awkCalculate(n.text, r.eval(n.args[0]).number(), v.number()))
		}
		r.assign(n.args[0], v)
		return v
	case "pre", "post":
		old := r.eval(n.args[0]).number()
		now := old + 1
		if n.text == "--" {
			now = old - 1
		}
		r.assign(n.args[0], awkNum(now))
		if n.op == "post" {
			return awkNum(old)
		}
		return awkNum(now)
	case "unary":
		v := r.eval(n.args[0])
		switch n.text {
		case "!":
			return awkBool(!v.truth())
		case "-":
			return awkNum(-v.number())
		}
		return awkNum(v.number())
	case "binary":
		return r.binary(n)
	case "call":
		return r.call(n)
	}
	failExpansion("syntax error")
	return awkValue{}
}

func awkCalculate(op string, a, b float64) float64 {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "^":
		return math.Pow(a, b)
	}
	if b == 0 {
		failExpansion("division by zero")
	}
	if op == "/" {
		return a / b
	}
	return math.Mod(a, b)
}

func (r *awkRun) binary(n *awkNode) awkValue {
	switch n.text {
	case "&&":
		return awkBool(r.eval(n.args[0]).truth() && r.eval(n.args[1]).truth())
	case "||":
		return awkBool(r.eval(n.args[0]).truth() || r.eval(n.args[1]).truth())
	case "~", "!~":
		s := r.eval(n.args[0]).text()
		return awkBool(r.pattern(n.args[1]).matches(r.p, s) == (n.text == "~"))
	}
	a, b := r.eval(n.args[0]), r.eval(n.args[1])
	switch n.text {
	case "<", "<=", "==", "!=", ">", ">=":
		c := 0
		if a.numeric() && b.numeric() {
			x, y := a.number(), b.number()
			c = int(truth(x > y) - truth(x < y))
		} else {
			c = strings.Compare(a.text(), b.text())
		}
		switch n.text {
		case "<":
			return awkBool(c < 0)
		case "<=":
			return awkBool(c <= 0)
		case "==":
			return awkBool(c == 0)
		case "!=":
			return awkBool(c != 0)
		case ">":
			return awkBool(c > 0)
		}
		return awkBool(c >= 0)
	}
	return awkNum(awkCalculate(n.text, a.number(), b.number()))
}
