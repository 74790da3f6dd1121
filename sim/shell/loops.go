package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

func (sh *shell) ifClause(cmd *syntax.IfClause) flow {
	for ; cmd != nil; cmd = cmd.Else {
		if len(cmd.Cond) > 0 {
			if f := sh.condition(cmd.Cond); f != next {
				return f
			}
			if sh.status != 0 {
				continue
			}
		}
		return sh.stmts(cmd.Then)
	}
	sh.status = 0
	return next
}

// loop runs the body of a loop once and reports whether the loop is over.
func (sh *shell) loop(body []*syntax.Stmt) (f flow, over bool) {
	switch f := sh.stmts(body); f {
	case next:
		return next, false
	case breakLoop, continueLoop:
		if sh.levels--; sh.levels > 0 {
			return f, true
		}
		return next, f == breakLoop
	default:
		return f, true
	}
}

func (sh *shell) while(cmd *syntax.WhileClause) flow {
	sh.loops++
	defer func() { sh.loops-- }()
	status, tested := 0, false // of the body
	for {
		switch f := sh.condition(cmd.Cond); f {
		case next:
		case breakLoop, continueLoop:
			if sh.levels--; sh.levels > 0 {
				return f
			}
			if f == continueLoop {
				continue
			}
			sh.status = 0
			return next
		default:
			return f
		}
		if (sh.status != 0) != cmd.Until {
			sh.status, sh.tested = status, tested
			return next
		}
		f, over := sh.loop(cmd.Do)
		status, tested = sh.status, sh.tested
		if over {
			return f
		}
	}
}

func (sh *shell) forClause(cmd *syntax.ForClause) flow {
	sh.loops++
	defer func() { sh.loops-- }()
	if cmd.Select {
		failExpansion("select is not simulated")
	}
	if c, ok := cmd.Loop.(*syntax.CStyleLoop); ok {
		return sh.cStyle(c, cmd.Do)
	}
	iter, ok := cmd.Loop.(*syntax.WordIter)
	if !ok {
		failExpansion("this loop is not simulated")
	}
	items := sh.params
	if iter.InPos.IsValid() {
		items = sh.fields(iter.Items)
	}
	size := paramsSize(items)
	sh.p.hold(size)
	defer sh.p.hold(-size)
	if len(items) == 0 {
		sh.status = 0
	}
	for _, item := range items {
		sh.p.step(1)
		sh.set(iter.Name.Value, item)
		if f, over := sh.loop(cmd.Do); over {
			return f
		}
	}
	return next
}

func (sh *shell) cStyle(c *syntax.CStyleLoop, body []*syntax.Stmt) flow {
	if c.Init != nil {
		sh.arithm(c.Init)
	}
	ran := false
	for c.Cond == nil || sh.arithm(c.Cond) != 0 {
		ran = true
		sh.p.step(1)
		if f, over := sh.loop(body); over {
			return f
		}
		if c.Post != nil {
			sh.arithm(c.Post)
		}
	}
	if !ran {
		sh.status = 0
	}
	return next
}

func (sh *shell) caseClause(cmd *syntax.CaseClause) flow {
	text := sh.text(cmd.Word)
	through, ran := false, false
	for _, item := range cmd.Items {
		if !through && !sh.selects(item, text) {
			continue
		}
		ran = ran || len(item.Stmts) > 0
		if f := sh.stmts(item.Stmts); f != next {
			return f
		}
		through = item.Op == syntax.Fallthrough
		if item.Op == syntax.Break {
			break
		}
	}
	if !ran {
		sh.status = 0
	}
	return next
}

// selects reports whether a pattern of an item matches.
func (sh *shell) selects(item *syntax.CaseItem, text string) bool {
	return slices.ContainsFunc(item.Patterns, func(pattern *syntax.Word) bool {
		return sh.matchPattern(sh.patternOf(pattern), text)
	})
}
