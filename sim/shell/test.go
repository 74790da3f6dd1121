package shell

import (
	"io/fs"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test runs test and [.
func test(p *proc, args []string) int {
	operands := args[1:]
	if args[0] == "[" {
		if len(operands) == 0 || operands[len(operands)-1] != "]" {
			p.errorf("[: missing ]")
			return 2
		}
		operands = operands[:len(operands)-1]
	}
	e := testExpr{p: p, args: operands}
	result := e.expr()
	if e.err == "" && e.pos < len(e.args) {
		e.err = e.args[e.pos] + ": unknown operand"
	}
	if e.err != "" {
		p.errorf("%s: %s", args[0], e.err)
		return 2
	}
	return int(truth(!result))
}

// testExpr evaluates the operands of test.
type testExpr struct {
	p     *proc
	args  []string
	pos   int
	depth int
	err   string
}

// expr evaluates what -o joins.
func (e *testExpr) expr() bool {
	if len(e.args) == 0 {
		return false
	}
	result := e.and()
	for e.peek(0) == "-o" {
		e.pos++
		right := e.and()
		result = result || right
	}
	return result
}

func (e *testExpr) and() bool {
	result := e.primary()
	for e.peek(0) == "-a" {
		e.pos++
		right := e.primary()
		result = result && right
	}
	return result
}

func (e *testExpr) peek(i int) string {
	if e.pos+i < len(e.args) {
		return e.args[e.pos+i]
	}
	return ""
}

func (e *testExpr) left() int { return len(e.args) - e.pos }

func (e *testExpr) primary() bool {
	negated := false
	for e.peek(0) == "!" && e.left() > 1 && !(e.left() >= 3 && isBinaryTest(e.peek(1)) && e.left() == 3) {
		negated = !negated
		e.pos++
		e.p.step(1)
	}
	return e.operand() != negated
}

func (e *testExpr) operand() bool {
	if e.err != "" {
		return false
	}
	if e.left() == 0 {
		e.err = "argument expected"
		return false
	}
	if e.left() >= 3 && isBinaryTest(e.peek(1)) {
		a, op, b := e.peek(0), e.peek(1), e.peek(2)
		e.pos += 3
		return e.binary(a, op, b)
	}
	first := e.peek(0)
	if first == "(" && e.left() > 1 {
		if e.depth++; e.depth > 50 {
			e.err = "nested too deeply"
			return false
		}
		e.pos++
		result := e.expr()
		e.depth--
		if e.peek(0) != ")" && e.err == "" {
			e.err = "closing paren expected"
		}
		e.pos++
		return result
	}
	if len(first) == 2 && first[0] == '-' && e.left() > 1 && strings.IndexByte("abcdefghknoprstuwxzLOGSN", first[1]) >= 0 {
		e.pos += 2
		return e.p.testUnary(first[1], e.args[e.pos-1])
	}
	e.pos++
	return first != ""
}

var binaryTests = map[string]bool{
	"=": true, "==": true, "!=": true, "<": true, ">": true, "-eq": true, "-ne": true, "-lt": true, "-le": true, "-gt": true, "-ge": true,
	"-nt": true, "-ot": true, "-ef": true,
}

func isBinaryTest(op string) bool { return binaryTests[op] }

func (e *testExpr) binary(a, op, b string) bool {
	switch op {
	case "=", "==":
		return a == b
	case "!=":
		return a != b
	case "<":
		return a < b
	case ">":
		return a > b
	case "-nt", "-ot", "-ef":
		return e.p.testFiles(a, op, b)
	}
	x, err1 := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
	y, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
	if err1 != nil || err2 != nil {
		bad := a
		if err1 == nil {
			bad = b
		}
		e.err = bad + ": bad number"
		return false
	}
	return compare(x, op, y)
}

func compare(x int64, op string, y int64) bool {
	switch op {
	case "-eq":
		return x == y
	case "-ne":
		return x != y
	case "-lt":
		return x < y
	case "-le":
		return x <= y
	case "-gt":
		return x > y
	}
	return x >= y
}

func (p *proc) testFiles(a, op, b string) bool {
	x, err1 := p.m.fs.stat(p.cred, p.abs(a), true)
	y, err2 := p.m.fs.stat(p.cred, p.abs(b), true)
	switch op {
	case "-ef":
		return err1 == nil && err2 == nil && x.node == y.node
	case "-nt":
		return err1 == nil && (err2 != nil || x.modTime.After(y.modTime))
	}
	return err2 == nil && (err1 != nil || y.modTime.After(x.modTime))
}

// testUnary evaluates -e and the like.
func (p *proc) testUnary(op byte, arg string) bool {
	p.step(2)
	switch op {
	case 'z':
		return arg == ""
	case 'n':
		return arg != ""
	case 't':
		n, err := strconv.Atoi(arg)
		return err == nil && p.isTerminal(n)
	case 'o':
		return false
	case 'r':
		return p.m.fs.access(p.cred, p.abs(arg), mayRead) == nil
	case 'w':
		return p.m.fs.access(p.cred, p.abs(arg), mayWrite) == nil
	case 'x':
		return p.m.fs.access(p.cred, p.abs(arg), mayExec) == nil
	}
	info, err := p.m.fs.stat(p.cred, p.abs(arg), op != 'h' && op != 'L')
	if err != nil {
		return false
	}
	switch op {
	case 'f':
		return info.mode.IsRegular()
	case 'd':
		return info.IsDir()
	case 'h', 'L':
		return info.mode&fs.ModeSymlink != 0
	case 's':
		return info.size > 0
	case 'c':
		return info.mode&fs.ModeCharDevice != 0
	case 'b', 'p', 'S':
		return false
	case 'u':
		return info.mode&fs.ModeSetuid != 0
	case 'g':
		return info.mode&fs.ModeSetgid != 0
	case 'k':
		return info.mode&fs.ModeSticky != 0
	case 'O':
		return info.uid == int(p.cred.uid)
	case 'G':
		return info.gid == int(p.cred.gid)
	}
	return true // -e, -a, -N
}

// testClause evaluates [[ … ]].
func (sh *shell) testClause(x syntax.TestExpr) bool {
	sh.p.step(1)
	switch x := x.(type) {
	case *syntax.Word:
		return sh.text(x) != ""
	case *syntax.ParenTest:
		return sh.testClause(x.X)
	case *syntax.UnaryTest:
		return sh.testUnary(x)
	case *syntax.BinaryTest:
		return sh.testBinary(x)
	}
	failExpansion("%T is not simulated", x)
	return false
}

func (sh *shell) testUnary(x *syntax.UnaryTest) bool {
	if x.Op == syntax.TsNot {
		return !sh.testClause(x.X)
	}
	w, ok := x.X.(*syntax.Word)
	if !ok {
		return sh.testClause(x.X)
	}
	arg := sh.text(w)
	switch x.Op {
	case syntax.TsVarSet:
		_, set := sh.variable(arg)
		return set
	case syntax.TsOptSet:
		for _, opt := range optionTable {
			if opt.name == arg {
				return *opt.field(&sh.opt)
			}
		}
		return false
	case syntax.TsRefVar:
		return false
	}
	op := x.Op.String()
	return sh.p.testUnary(op[len(op)-1], arg)
}

func (sh *shell) testBinary(x *syntax.BinaryTest) bool {
	switch x.Op {
	case syntax.AndTest:
		return sh.testClause(x.X) && sh.testClause(x.Y)
	case syntax.OrTest:
		return sh.testClause(x.X) || sh.testClause(x.Y)
	}
	left, ok1 := x.X.(*syntax.Word)
	right, ok2 := x.Y.(*syntax.Word)
	if !ok1 || !ok2 {
		failExpansion("[[: argument expected")
	}
	a := sh.text(left)
	switch x.Op {
	case syntax.TsMatchShort, syntax.TsMatch:
		return sh.matchPattern(sh.patternOf(right), a)
	case syntax.TsNoMatch:
		return !sh.matchPattern(sh.patternOf(right), a)
	case syntax.TsReMatch:
		return sh.matchRegexp(a, right)
	}
	b := sh.text(right)
	switch x.Op {
	case syntax.TsBefore:
		return a < b
	case syntax.TsAfter:
		return a > b
	case syntax.TsNewer, syntax.TsOlder, syntax.TsDevIno:
		return sh.p.testFiles(a, x.Op.String(), b)
	}
	return compare(sh.number(a, 0), x.Op.String(), sh.number(b, 0))
}

// matchRegexp evaluates =~ and sets BASH_REMATCH.
func (sh *shell) matchRegexp(s string, word *syntax.Word) bool {
	re, err := compileRegexp(sh.p, sh.text(word))
	if err != nil {
		failExpansion("[[: %v", err)
	}
	m := re.find(sh.p, s)
	if m == nil {
		return false
	}
	var groups []string
	for i := range len(m) / 2 {
		groups = append(groups, group(s, m, i))
	}
	sh.setVar("BASH_REMATCH", variable{array: true, set: true, list: groups})
	return true
}
