package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// awkNode is an expression or a statement of awk.
type awkNode struct {
	op   string // what it is; see the evaluator
	text string // of a literal, name or operator
	num  float64
	args []*awkNode
}

// awkRule is a pattern with an action; nil stands for what is left out.
type awkRule struct {
	begin, end bool
	from, to   *awkNode
	action     *awkNode
	active     bool
}

// awkParser parses a program. Functions, getline and pipes are not simulated.
type awkParser struct {
	src     string
	tok     string // kind: name, func, number, string, regexp, newline, eof, or the operator itself
	text    string
	operand bool // the last token ended an operand: a slash divides
	noIn    bool
	noGt    bool
	depth   int
}

// awkError is the panic of a syntax error.
type awkError string

func (a *awkParser) fail(format string, args ...any) { panic(awkError(fmt.Sprintf(format, args...))) }

func (a *awkParser) enter() (leave func()) {
	if a.depth++; a.depth > 200 {
		a.fail("nested too deeply")
	}
	return func() { a.depth-- }
}

// parseAwk parses a program.
func parseAwk(src string) (rules []*awkRule, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(awkError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("syntax error: %s", string(e))
		}
	}()
	if len(src) > maxScript {
		return nil, errTooLong
	}
	a := &awkParser{src: src}
	a.next()
	for a.skipNewlines(); a.tok != "eof"; a.skipNewlines() {
		rules = append(rules, a.rule())
	}
	return rules, nil
}

func (a *awkParser) rule() *awkRule {
	r := &awkRule{}
	switch a.tok {
	case "function", "func":
		a.fail("functions are not simulated")
	case "BEGIN":
		a.next()
		r.begin = true
	case "END":
		a.next()
		r.end = true
	case "{":
	default:
		r.from = a.expr()
		if a.accept(",") {
			a.skipNewlines()
			r.to = a.expr()
		}
	}
	if a.tok == "{" {
		r.action = a.block()
	} else if r.begin || r.end {
		a.fail("BEGIN and END need an action")
	}
	return r
}

func (a *awkParser) block() *awkNode {
	defer a.enter()()
	a.expect("{")
	n := &awkNode{op: "block"}
	for a.skipNewlines(); a.tok != "}"; a.skipNewlines() {
		if a.tok == "eof" {
			a.fail("missing }")
		}
		n.args = append(n.args, a.statement())
	}
	a.next()
	return n
}

// body is the statement of an if or a loop.
func (a *awkParser) body() *awkNode {
	for a.tok == "newline" {
		a.next()
	}
	if a.accept(";") {
		return &awkNode{op: "block"}
	}
	return a.statement()
}

func (a *awkParser) statement() *awkNode {
	defer a.enter()()
	if a.tok == "{" {
		return a.block()
	}
	switch a.tok {
	case "if":
		a.next()
		a.expect("(")
		n := &awkNode{op: "if", args: []*awkNode{a.expr()}}
		a.expect(")")
		n.args = append(n.args, a.body())
		saved := *a
		a.skipNewlines()
		if a.accept("else") {
			n.args = append(n.args, a.body())
		} else {
			*a = saved
		}
		return n
	case "while":
		a.next()
		a.expect("(")
		n := &awkNode{op: "while", args: []*awkNode{a.expr()}}
		a.expect(")")
		n.args = append(n.args, a.body())
		return n
	case "do":
		a.next()
		body := a.body()
		a.skipNewlines()
		a.expect("while")
		a.expect("(")
		cond := a.expr()
		a.expect(")")
		return &awkNode{op: "do", args: []*awkNode{cond, body}}
	case "for":
		return a.forStatement()
	}
	n := a.simpleStatement()
	if a.tok != "newline" && a.tok != ";" && a.tok != "}" && a.tok != "eof" {
		a.fail("unexpected %q", a.tok)
	}
	return n
}

func (a *awkParser) forStatement() *awkNode {
	a.next()
	a.expect("(")
	if a.tok == "name" {
		saved := *a
		name := a.text
		a.next()
		if a.accept("in") && a.tok == "name" {
			array := a.text
			a.next()
			if a.accept(")") {
				return &awkNode{op: "forin", text: array, args: []*awkNode{{op: "var", text: name}, a.body()}}
			}
		}
		*a = saved
	}
	n := &awkNode{op: "for", args: make([]*awkNode, 3)}
	if a.tok != ";" {
		n.args[0] = a.simpleStatement()
	}
	a.expect(";")
	if a.tok != ";" {
		n.args[1] = a.expr()
	}
	a.expect(";")
	if a.tok != ")" {
		n.args[2] = a.simpleStatement()
	}
	a.expect(")")
	n.args = append(n.args, a.body())
	return n
}

func (a *awkParser) simpleStatement() *awkNode {
	switch op := a.tok; op {
	case "break", "continue", "next":
		a.next()
		return &awkNode{op: op}
	case "exit":
		a.next()
		n := &awkNode{op: "exit"}
		if a.tok != "newline" && a.tok != ";" && a.tok != "}" && a.tok != "eof" {
			n.args = []*awkNode{a.expr()}
		}
		return n
	case "delete":
		a.next()
		n := a.primary()
		if n.op != "var" && n.op != "index" {
			a.fail("delete needs an array")
		}
		return &awkNode{op: "delete", args: []*awkNode{n}}
	case "print", "printf":
		return a.printStatement()
	case "getline", "return":
		a.fail("%s is not simulated", op)
	}
	return &awkNode{op: "expr", args: []*awkNode{a.expr()}}
}

func (a *awkParser) printStatement() *awkNode {
	n := &awkNode{op: a.tok}
	a.next()
	noGt := a.noGt
	a.noGt = true
	if strings.IndexByte("newline;}>|", a.tok[0]) < 0 || a.tok == "name" || a.tok == "number" {
		first := a.expr()
		if first.op == "list" {
			n.args = first.args
		} else {
			n.args = []*awkNode{first}
		}
		for a.accept(",") {
			a.skipNewlines()
			n.args = append(n.args, a.expr())
		}
	}
	a.noGt = noGt
	switch a.tok {
	case ">", ">>":
		n.text = a.tok
		a.next()
		n.args = append(n.args, a.concat())
	case "|":
		a.fail("pipes are not simulated")
	}
	return n
}

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

func (a *awkParser) or() *awkNode  { return a.left(a.and, "||") }
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
