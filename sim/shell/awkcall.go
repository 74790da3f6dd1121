package shell

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

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
	re.mustCharge(r.p, len(s))
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
