package shell

import (
	"strconv"
	"strings"
)

func (a *awkParser) expr() *awkNode {
	defer a.enter()()
	left := a.ternary()
	switch op := a.tok; op {
	case "=", "+=", "-=", "*=", "/=", "%=", "^=", "**=":
		if left.op != "var" && left.op != "index" && left.op != "field" {
			a.fail("assignment to what is not a variable")
		}
		a.next()
		a.skipNewlines()
		return &awkNode{op: "assign", text: strings.TrimSuffix(strings.Replace(op, "**", "^", 1), "="), args: []*awkNode{left, a.expr()}}
	}
	return left
}

func (a *awkParser) ternary() *awkNode {
	cond := a.or()
	if !a.accept("?") {
		return cond
	}
	a.skipNewlines()
	yes := a.expr()
	a.skipNewlines()
	a.expect(":")
	a.skipNewlines()
	return &awkNode{op: "?", args: []*awkNode{cond, yes, a.expr()}}
}

// left parses operators of one level.
func (a *awkParser) left(below func() *awkNode, ops ...string) *awkNode {
	n := below()
	for {
		matched := false
		for _, op := range ops {
			if a.tok == op && !(op == ">" && a.noGt) && !(op == "in" && a.noIn) {
				a.next()
				if op == "&&" || op == "||" {
					a.skipNewlines()
				}
				n = &awkNode{op: "binary", text: op, args: []*awkNode{n, below()}}
				matched = true
				break
			}
		}
		if !matched {
			return n
		}
	}
}

func (a *awkParser) or() *awkNode { return a.left(a.and, "||") }

func (a *awkParser) and() *awkNode { return a.left(a.in, "&&") }

func (a *awkParser) in() *awkNode {
	n := a.left(a.comparison, "~", "!~")
	for a.tok == "in" && !a.noIn {
		a.next()
		if a.tok != "name" {
			a.fail("in needs an array")
		}
		n = &awkNode{op: "in", text: a.text, args: []*awkNode{n}}
		a.next()
	}
	return n
}

func (a *awkParser) comparison() *awkNode {
	return a.left(a.concat, "<", "<=", "==", "!=", ">", ">=")
}

// concat parses operands side by side.
func (a *awkParser) concat() *awkNode {
	n := a.additive()
	for a.tok == "name" || a.tok == "func" || a.tok == "number" || a.tok == "string" || a.tok == "$" || a.tok == "(" || a.tok == "!" || a.tok == "++" || a.tok == "--" || a.tok == "-" {
		n = &awkNode{op: "concat", args: []*awkNode{n, a.additive()}}
	}
	return n
}

func (a *awkParser) additive() *awkNode { return a.left(a.multiplicative, "+", "-") }

func (a *awkParser) multiplicative() *awkNode { return a.left(a.unary, "*", "/", "%") }

func (a *awkParser) unary() *awkNode {
	defer a.enter()()
	switch op := a.tok; op {
	case "!", "-", "+":
		a.next()
		return &awkNode{op: "unary", text: op, args: []*awkNode{a.unary()}}
	}
	n := a.postfix()
	if a.accept("^") {
		return &awkNode{op: "binary", text: "^", args: []*awkNode{n, a.unary()}}
	}
	return n
}

func (a *awkParser) postfix() *awkNode {
	if op := a.tok; op == "++" || op == "--" {
		a.next()
		return &awkNode{op: "pre", text: op, args: []*awkNode{a.primary()}}
	}
	n := a.primary()
	if op := a.tok; (op == "++" || op == "--") && (n.op == "var" || n.op == "index" || n.op == "field") {
		a.next()
		return &awkNode{op: "post", text: op, args: []*awkNode{n}}
	}
	return n
}

func (a *awkParser) primary() *awkNode {
	defer a.enter()()
	text := a.text
	switch a.tok {
	case "number":
		a.next()
		x, _ := strconv.ParseFloat(text, 64)
		return &awkNode{op: "number", num: x}
	case "string", "regexp":
		n := &awkNode{op: a.tok, text: text}
		a.next()
		return n
	case "$":
		a.next()
		if op := a.tok; op == "++" || op == "--" || op == "-" {
			return &awkNode{op: "field", args: []*awkNode{a.unary()}}
		}
		return &awkNode{op: "field", args: []*awkNode{a.primary()}}
	case "(":
		a.next()
		noGt := a.noGt
		a.noGt = false
		n := a.expr()
		if a.tok == "," {
			n = &awkNode{op: "list", args: []*awkNode{n}}
			for a.accept(",") {
				a.skipNewlines()
				n.args = append(n.args, a.expr())
			}
		} else {
			n = &awkNode{op: "group", args: []*awkNode{n}}
		}
		a.noGt = noGt
		a.expect(")")
		return n
	case "func":
		a.next()
		return a.call(text)
	case "name":
		a.next()
		if !a.accept("[") {
			return &awkNode{op: "var", text: text}
		}
		n := &awkNode{op: "index", text: text, args: []*awkNode{a.expr()}}
		for a.accept(",") {
			n.args = append(n.args, a.expr())
		}
		a.expect("]")
		return n
	}
	a.fail("unexpected %q", a.tok)
	return nil
}

// call parses the arguments of a function.
func (a *awkParser) call(name string) *awkNode {
	n := &awkNode{op: "call", text: name}
	if a.tok != "(" {
		if name != "length" {
			a.fail("%s needs arguments", name)
		}
		return n
	}
	a.next()
	noGt := a.noGt
	a.noGt = false
	for a.tok != ")" {
		n.args = append(n.args, a.expr())
		if !a.accept(",") {
			break
		}
		a.skipNewlines()
	}
	a.noGt = noGt
	a.expect(")")
	return n
}
