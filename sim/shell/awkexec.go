package shell

import (
	"maps"
	"slices"
	"strings"
)

// awkFlow says how execution goes on.
type awkFlow int

const (
	awkNext awkFlow = iota
	awkBreak
	awkContinue
	awkNextRecord
	awkExit
)

// exec runs a statement.
func (r *awkRun) exec(n *awkNode) awkFlow {
	r.p.step(1)
	switch n.op {
	case "block":
		for _, st := range n.args {
			if f := r.exec(st); f != awkNext {
				return f
			}
		}
	case "expr":
		r.eval(n.args[0])
	case "if":
		if r.eval(n.args[0]).truth() {
			return r.exec(n.args[1])
		}
		if len(n.args) > 2 {
			return r.exec(n.args[2])
		}
	case "while", "do", "for", "forin":
		return r.loop(n)
	case "break":
		return awkBreak
	case "continue":
		return awkContinue
	case "next":
		return awkNextRecord
	case "exit":
		if len(n.args) > 0 {
			r.status = int(r.eval(n.args[0]).number()) & 0xff
		}
		return awkExit
	case "delete":
		r.remove(n.args[0])
	case "print", "printf":
		r.print(n)
	}
	return awkNext
}

// loop runs a loop.
func (r *awkRun) loop(n *awkNode) awkFlow {
	switch n.op {
	case "while", "do":
		for first := n.op == "do"; first || r.eval(n.args[0]).truth(); first = false {
			if f, ends := r.loopBody(n.args[1]); ends {
				return f
			}
		}
	case "for":
		if n.args[0] != nil {
			r.exec(n.args[0])
		}
		for n.args[1] == nil || r.eval(n.args[1]).truth() {
			if f, ends := r.loopBody(n.args[3]); ends {
				return f
			}
			if n.args[2] != nil {
				r.exec(n.args[2])
			}
		}
	case "forin":
		for _, key := range slices.Sorted(maps.Keys(r.arrays[n.text])) {
			r.assign(n.args[0], awkValue{s: key, input: true})
			if f, ends := r.loopBody(n.args[1]); ends {
				return f
			}
		}
	}
	return awkNext
}

// loopBody runs the body of a loop once, and reports whether the loop ends and how execution
// goes on then.
func (r *awkRun) loopBody(body *awkNode) (f awkFlow, ends bool) {
	switch f := r.exec(body); f {
	case awkBreak:
		return awkNext, true
	case awkNextRecord, awkExit:
		return f, true
	}
	return awkNext, false
}

// remove removes an element, or all elements of an array.
func (r *awkRun) remove(n *awkNode) {
	array := r.array(n.text)
	if n.op == "var" {
		for key, v := range array {
			r.hold(-64 - len(key) - len(v.s))
		}
		clear(array)
		return
	}
	key := r.key(n)
	if v, ok := array[key]; ok {
		r.hold(-64 - len(key) - len(v.s))
		delete(array, key)
	}
}

// key returns the subscript of an element.
func (r *awkRun) key(n *awkNode) string {
	var parts []string
	for _, arg := range n.args {
		parts = append(parts, r.eval(arg).text())
	}
	return strings.Join(parts, r.vars["SUBSEP"].text())
}

// assign assigns to a variable, an element or a field.
func (r *awkRun) assign(n *awkNode, v awkValue) {
	switch n.op {
	case "var":
		r.set(n.text, v)
	case "index":
		key, array := r.key(n), r.array(n.text)
		old, ok := array[key]
		if !ok {
			r.hold(64 + len(key))
		}
		r.hold(len(v.s) - len(old.s))
		array[key] = v
	case "field":
		r.setField(int(max(-1, min(r.eval(n.args[0]).number(), 1e6))), v.text())
	default:
		failExpansion("assignment to what is not a variable")
	}
}

func (r *awkRun) array(name string) map[string]awkValue {
	if r.arrays[name] == nil {
		r.hold(128 + len(name))
		r.arrays[name] = map[string]awkValue{}
	}
	return r.arrays[name]
}
