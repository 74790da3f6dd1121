package shell

import (
	"fmt"
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
