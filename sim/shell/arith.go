package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// mostIndirections bounds variables whose values are names of variables.
const mostIndirections = 32

// arithm evaluates an arithmetic expression.
func (sh *shell) arithm(x syntax.ArithmExpr) int64 {
	sh.p.step(1)
	switch x := x.(type) {
	case *syntax.Word:
		return sh.number(sh.text(x), 0)
	case *syntax.ParenArithm:
		return sh.arithm(x.X)
	case *syntax.UnaryArithm:
		return sh.unary(x)
	case *syntax.BinaryArithm:
		return sh.binary(x)
	case nil:
		return 0
	}
	failExpansion("arithmetic syntax error")
	return 0
}

// number is the value of a number or of a variable.
func (sh *shell) number(s string, depth int) int64 {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0
	}
	if syntax.ValidName(s) {
		if depth > mostIndirections {
			failExpansion("%s: expression recursion level exceeded", s)
		}
		v, ok := sh.variable(s)
		if !ok && sh.opt.nounset {
			failExpansion("%s: parameter not set", s)
		}
		return sh.number(v, depth+1)
	}
	digits, negative := strings.CutPrefix(s, "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	base := 10
	switch b, rest, ok := strings.Cut(digits, "#"); {
	case ok:
		n, err := strconv.Atoi(b)
		if err != nil || n < 2 || n > 36 {
			failExpansion("arithmetic syntax error: %q", s)
		}
		base, digits = n, rest
	case strings.HasPrefix(digits, "0x"), strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base, digits = 8, digits[1:]
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		if len(s) > 64 {
			s = s[:64] + "…"
		}
		failExpansion("arithmetic syntax error: %q", s)
	}
	if negative {
		return -int64(n)
	}
	return int64(n)
}

func (sh *shell) unary(x *syntax.UnaryArithm) int64 {
	if x.Op == syntax.Inc || x.Op == syntax.Dec {
		name, index := sh.assignable(x.X)
		old := sh.element(name, index)
		now := old + 1
		if x.Op == syntax.Dec {
			now = old - 1
		}
		sh.setElement(name, index, now)
		if x.Post {
			return old
		}
		return now
	}
	v := sh.arithm(x.X)
	switch x.Op {
	case syntax.Not:
		return truth(v == 0)
	case syntax.BitNegation:
		return ^v
	case syntax.Plus:
		return v
	case syntax.Minus:
		return -v
	}
	failExpansion("arithmetic syntax error")
	return 0
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// assignable returns the variable that an expression names, and the index if it
// is an element of an array.
func (sh *shell) assignable(x syntax.ArithmExpr) (name string, index *int64) {
	if w, ok := x.(*syntax.Word); ok {
		if name := w.Lit(); syntax.ValidName(name) {
			return name, nil
		}
		if len(w.Parts) == 1 {
			if pe, ok := w.Parts[0].(*syntax.ParamExp); ok && pe.Short && pe.Index != nil && pe.Param != nil {
				n := sh.arithm(pe.Index)
				return pe.Param.Value, &n
			}
		}
	}
	failExpansion("arithmetic syntax error: assignment to what is not a variable")
	return "", nil
}

func (sh *shell) element(name string, index *int64) int64 {
	if index == nil {
		v, _ := sh.variable(name)
		return sh.number(v, 0)
	}
	list := sh.vars[name].list
	if name == "PIPESTATUS" {
		list = sh.pipeStatuses()
	}
	if *index >= 0 && *index < int64(len(list)) {
		return sh.number(list[*index], 0)
	}
	return 0
}

func (sh *shell) setElement(name string, index *int64, n int64) {
	text := strconv.FormatInt(n, 10)
	if index == nil {
		sh.set(name, text)
		return
	}
	sh.setIndex(name, *index, text, false)
}

func (sh *shell) binary(x *syntax.BinaryArithm) int64 {
	switch x.Op {
	case syntax.TernQuest:
		branches, ok := x.Y.(*syntax.BinaryArithm)
		if !ok {
			failExpansion("arithmetic syntax error")
		}
		if sh.arithm(x.X) != 0 {
			return sh.arithm(branches.X)
		}
		return sh.arithm(branches.Y)
	case syntax.AndArit:
		return truth(sh.arithm(x.X) != 0 && sh.arithm(x.Y) != 0)
	case syntax.OrArit:
		return truth(sh.arithm(x.X) != 0 || sh.arithm(x.Y) != 0)
	}
	if op, ok := assignOps[x.Op]; ok {
		name, index := sh.assignable(x.X)
		v := sh.arithm(x.Y)
		if x.Op != syntax.Assgn {
			v = calculate(op, sh.element(name, index), v)
		}
		sh.setElement(name, index, v)
		return v
	}
	return calculate(x.Op, sh.arithm(x.X), sh.arithm(x.Y))
}

var assignOps = map[syntax.BinAritOperator]syntax.BinAritOperator{
	syntax.Assgn: syntax.Add, syntax.AddAssgn: syntax.Add, syntax.SubAssgn: syntax.Sub, syntax.MulAssgn: syntax.Mul, syntax.QuoAssgn: syntax.Quo,
	syntax.RemAssgn: syntax.Rem, syntax.AndAssgn: syntax.And, syntax.OrAssgn: syntax.Or, syntax.XorAssgn: syntax.Xor,
	syntax.ShlAssgn: syntax.Shl, syntax.ShrAssgn: syntax.Shr,
}

func calculate(op syntax.BinAritOperator, a, b int64) int64 {
	switch op {
	case syntax.Add:
		return a + b
	case syntax.Sub:
		return a - b
	case syntax.Mul:
		return a * b
	case syntax.Quo, syntax.Rem:
		if b == 0 {
			failExpansion("divide by zero")
		}
		if op == syntax.Rem {
			return a % b
		}
		return a / b
	case syntax.Pow:
		return power(a, b)
	case syntax.Eql:
		return truth(a == b)
	case syntax.Neq:
		return truth(a != b)
	case syntax.Gtr:
		return truth(a > b)
	case syntax.Lss:
		return truth(a < b)
	case syntax.Geq:
		return truth(a >= b)
	case syntax.Leq:
		return truth(a <= b)
	case syntax.And:
		return a & b
	case syntax.Or:
		return a | b
	case syntax.Xor:
		return a ^ b
	case syntax.Shl:
		return a << (uint64(b) & 63)
	case syntax.Shr:
		return a >> (uint64(b) & 63)
	case syntax.Comma:
		return b
	}
	failExpansion("arithmetic syntax error")
	return 0
}

func power(a, b int64) int64 {
	if b < 0 {
		failExpansion("exponent less than 0")
	}
	n := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 != 0 {
			n *= a
		}
		a *= a
	}
	return n
}
