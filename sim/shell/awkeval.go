package shell

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
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
		return awkValue{input: true}
	case "index":
		v, ok := r.array(n.text)[r.key(n)]
		if !ok {
			v = awkValue{input: true}
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

// call calls a function.
func (r *awkRun) call(n *awkNode) awkValue {
	need := map[string]int{"substr": 2, "index": 2, "split": 2, "sub": 2, "gsub": 2, "match": 2, "sprintf": 1, "toupper": 1, "tolower": 1, "int": 1, "sqrt": 1, "exp": 1, "log": 1, "sin": 1, "cos": 1}[n.text]
	if len(n.args) < need {
		failExpansion("%s needs %d arguments", n.text, need)
	}
	text := func(i int) string { return r.eval(n.args[i]).text() }
	switch n.text {
	case "length":
		if len(n.args) == 0 {
			return awkNum(float64(len([]rune(r.field(0).s))))
		}
		if array, ok := r.arrays[n.args[0].text]; ok && n.args[0].op == "var" {
			return awkNum(float64(len(array)))
		}
		return awkNum(float64(len([]rune(text(0)))))
	case "substr":
		return r.substr(n)
	case "index":
		s := text(0)
		i := strings.Index(s, text(1))
		if i < 0 {
			return awkNum(0)
		}
		return awkNum(float64(len([]rune(s[:i])) + 1))
	case "split":
		return r.splitCall(n)
	case "sub", "gsub":
		return r.substitute(n)
	case "match":
		s := text(0)
		m := r.pattern(n.args[1]).find(r.p, s)
		start, length := 0, -1
		if m != nil {
			start, length = len([]rune(s[:m[0]]))+1, len([]rune(s[m[0]:m[1]]))
		}
		r.set("RSTART", awkNum(float64(start)))
		r.set("RLENGTH", awkNum(float64(length)))
		return awkNum(float64(start))
	case "sprintf":
		return awkStr(r.sprintf(n.args))
	case "toupper":
		return awkStr(strings.ToUpper(text(0)))
	case "tolower":
		return awkStr(strings.ToLower(text(0)))
	case "rand":
		return awkNum(rand.Float64())
	case "srand":
		return awkNum(0)
	case "systime":
		return awkNum(float64(time.Now().Unix()))
	}
	f := map[string]func(float64) float64{"int": math.Trunc, "sqrt": math.Sqrt, "exp": math.Exp, "log": math.Log, "sin": math.Sin, "cos": math.Cos}[n.text]
	return awkNum(f(r.eval(n.args[0]).number()))
}

func (r *awkRun) substr(n *awkNode) awkValue {
	s := []rune(r.eval(n.args[0]).text())
	from := math.Round(r.eval(n.args[1]).number())
	to := math.Inf(1)
	if len(n.args) > 2 {
		to = from + math.Round(r.eval(n.args[2]).number())
	}
	a := int(max(1, min(from, float64(len(s)+1))))
	b := int(max(1, min(to, float64(len(s)+1))))
	if math.IsNaN(from) || math.IsNaN(to) || b <= a {
		return awkStr("")
	}
	return awkStr(string(s[a-1 : b-1]))
}

func (r *awkRun) splitCall(n *awkNode) awkValue {
	if n.args[1].op != "var" {
		failExpansion("split needs an array")
	}
	sep := r.vars["FS"].text()
	if len(n.args) > 2 {
		if n.args[2].op == "regexp" {
			sep = "(" + n.args[2].text + ")"
		} else {
			sep = r.eval(n.args[2]).text()
		}
	}
	parts := r.splitText(r.eval(n.args[0]).text(), sep)
	r.remove(n.args[1])
	array := r.array(n.args[1].text)
	for i, part := range parts {
		key := strconv.Itoa(i + 1)
		r.hold(64 + len(key) + len(part))
		array[key] = awkValue{s: part, input: true}
	}
	return awkNum(float64(len(parts)))
}

func (r *awkRun) substitute(n *awkNode) awkValue {
	target := &awkNode{op: "field", args: []*awkNode{{op: "number"}}}
	if len(n.args) > 2 {
		target = n.args[2]
	}
	re, with, s := r.pattern(n.args[0]), r.eval(n.args[1]).text(), r.eval(target).text()
	if !re.charge(r.p, len(s)) {
		failExpansion("line too long for this regular expression in the simulation")
	}
	most := -1
	if n.text == "sub" {
		most = 1
	}
	var b strings.Builder
	held, pos, count := 0, 0, 0
	add := func(text string) {
		r.p.hold(len(text))
		held += len(text)
		b.WriteString(text)
	}
	defer func() { r.p.hold(-held) }()
	for _, m := range re.re.FindAllStringIndex(s, most) {
		r.p.step(1)
		count++
		add(s[pos:m[0]])
		for i := 0; i < len(with); i++ {
			switch {
			case with[i] == '\\' && i+1 < len(with) && (with[i+1] == '&' || with[i+1] == '\\'):
				i++
				add(with[i : i+1])
			case with[i] == '&':
				add(s[m[0]:m[1]])
			default:
				add(with[i : i+1])
			}
		}
		pos = m[1]
	}
	if count > 0 {
		add(s[pos:])
		r.assign(target, awkStr(b.String()))
	}
	return awkNum(float64(count))
}
