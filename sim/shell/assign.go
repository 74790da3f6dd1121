package shell

import "mvdan.cc/sh/v3/syntax"

// assignTemporarily makes assignments that hold for one command.
func (sh *shell) assignTemporarily(assigns []*syntax.Assign) (restore func()) {
	if len(assigns) == 0 {
		return func() {}
	}
	type old struct {
		name string
		v    variable
		ok   bool
	}
	var saved []old
	for _, as := range assigns {
		name := as.Name.Value
		v, ok := sh.vars[name]
		saved = append(saved, old{name, v, ok})
		sh.assign(as)
		now := sh.vars[name]
		now.exported = true
		sh.vars[name] = now
	}
	return func() {
		for i := len(saved) - 1; i >= 0; i-- {
			if s := saved[i]; s.ok {
				sh.setVar(s.name, s.v)
			} else if now, ok := sh.vars[s.name]; ok && !now.readonly {
				sh.unset(s.name)
			}
		}
	}
}

// assign makes an assignment.
func (sh *shell) assign(as *syntax.Assign) {
	name := as.Name.Value
	if as.Array != nil {
		sh.assignArray(name, as)
		return
	}
	text := sh.text(as.Value)
	if sh.opt.xtrace {
		ps4, _ := sh.variable("PS4")
		sh.p.errorf("%s%s=%s", ps4, name, quote(text))
	}
	if as.Index != nil {
		sh.setIndex(name, sh.arithm(as.Index), text, as.Append)
		return
	}
	if as.Append {
		old, _ := sh.variable(name)
		sh.p.hold(len(old))
		text = old + text
		sh.p.hold(-len(old))
	}
	sh.set(name, text)
}

func (sh *shell) assignArray(name string, as *syntax.Assign) {
	sh.checkWritable(name)
	var list []string
	if old := sh.vars[name]; as.Append && old.array {
		list = append(list, old.list...)
	} else if as.Append && old.set {
		list = append(list, old.str)
	}
	for _, elem := range as.Array.Elems {
		if elem.Index == nil {
			list = append(list, sh.fields([]*syntax.Word{elem.Value})...)
			continue
		}
		if w, ok := elem.Index.(*syntax.Word); ok && len(w.Parts) == 1 {
			switch w.Parts[0].(type) {
			case *syntax.DblQuoted, *syntax.SglQuoted:
				failExpansion("%s: associative arrays are not simulated", name)
			}
		}
		index := sh.arithm(elem.Index)
		if index < 0 || index >= mostElements {
			failExpansion("%s[%d]: bad array subscript", name, index)
		}
		for int64(len(list)) <= index {
			list = append(list, "")
		}
		list[index] = sh.text(elem.Value)
	}
	if len(list) > mostElements {
		failExpansion("%s: more than %d elements", name, mostElements)
	}
	v := sh.vars[name]
	v.str, v.list, v.array, v.set = "", list, true, true
	sh.setVar(name, v)
}
