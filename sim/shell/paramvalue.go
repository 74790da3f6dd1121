package shell

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// value is what a parameter expansion yields.
type value struct {
	elems []string
	list  bool // $@, $* or all elements of an array
	star  bool // quoted, the elements are joined by the first character of IFS
	set   bool
}

func (v value) text() string {
	if len(v.elems) == 0 {
		return ""
	}
	return strings.Join(v.elems, " ")
}

// literalIndex returns the index of an array that is @ or *, or "".
func literalIndex(pe *syntax.ParamExp) string {
	if w, ok := pe.Index.(*syntax.Word); ok {
		return w.Lit()
	}
	return ""
}

func scalar(s string) value { return value{elems: []string{s}, set: true} }

// paramValue returns the value of a parameter, before operators.
func (sh *shell) paramValue(name string, pe *syntax.ParamExp) value {
	if v, ok := sh.specialParam(name, pe); ok {
		return v
	}
	if n, err := strconv.Atoi(name); err == nil {
		switch {
		case n == 0:
			return scalar(sh.name)
		case n > 0 && n <= len(sh.params):
			return scalar(sh.params[n-1])
		}
		return value{}
	}
	vr, ok := sh.vars[name]
	if !ok || !vr.set {
		if s, ok := sh.dynamic(name); ok {
			return sh.onlyElement(s, pe)
		}
		index := literalIndex(pe)
		return value{list: index == "@" || index == "*", star: index == "*"}
	}
	if !vr.array {
		return sh.onlyElement(vr.str, pe)
	}
	return sh.arrayValue(vr.list, pe)
}

// onlyElement returns the value of a variable that is not an array: as of one with one element.
func (sh *shell) onlyElement(s string, pe *syntax.ParamExp) value {
	if pe.Index == nil || literalIndex(pe) == "@" || literalIndex(pe) == "*" || sh.arithm(pe.Index) == 0 {
		return scalar(s)
	}
	return value{}
}

// specialParam returns the value of a parameter whose name is a special character, and of
// LINENO and PIPESTATUS.
func (sh *shell) specialParam(name string, pe *syntax.ParamExp) (v value, ok bool) {
	switch name {
	case "@", "*":
		return value{elems: sh.params, list: true, star: name == "*", set: len(sh.params) > 0}, true
	case "#":
		return scalar(strconv.Itoa(len(sh.params))), true
	case "?":
		return scalar(strconv.Itoa(sh.status)), true
	case "$":
		return scalar(strconv.Itoa(sh.pid)), true
	case "!":
		if sh.lastJob == 0 {
			return value{}, true
		}
		return scalar(strconv.Itoa(sh.lastJob)), true
	case "-":
		return scalar(sh.opt.flags()), true
	case "LINENO":
		return scalar(strconv.FormatUint(uint64(pe.Pos().Line()), 10)), true
	case "PIPESTATUS":
		return sh.arrayValue(sh.pipeStatuses(), pe), true
	}
	return value{}, false
}

// pipeStatuses returns the elements of PIPESTATUS.
func (sh *shell) pipeStatuses() []string {
	if sh.pipeStatus == nil {
		return []string{strconv.Itoa(sh.status)}
	}
	list := make([]string, len(sh.pipeStatus))
	for i, status := range sh.pipeStatus {
		list[i] = strconv.Itoa(status)
	}
	return list
}

// arrayValue returns the element of an array that an expansion names: the first one if it has
// no index, all for @ and *.
func (sh *shell) arrayValue(list []string, pe *syntax.ParamExp) value {
	switch index := literalIndex(pe); {
	case index == "@" || index == "*":
		return value{elems: list, list: true, star: index == "*", set: len(list) > 0}
	case pe.Index == nil:
		if len(list) == 0 {
			return value{}
		}
		return scalar(list[0])
	}
	n := sh.arithm(pe.Index)
	if n < 0 {
		n += int64(len(list))
	}
	if n < 0 || n >= int64(len(list)) {
		return value{}
	}
	return scalar(list[n])
}

// dynamic returns the variables that the shell computes.
func (sh *shell) dynamic(name string) (string, bool) {
	switch name {
	case "RANDOM":
		return strconv.Itoa(rand.IntN(32768)), true
	case "SECONDS":
		if !sh.bash {
			return "", false
		}
		return strconv.Itoa(int(math.Floor(time.Since(sh.started).Seconds()))), true // also if it is negative
	case "PIPESTATUS": // in arithmetic
		return sh.pipeStatuses()[0], true
	case "BASH_SOURCE":
		return sh.source, sh.bash && sh.source != ""
	case "PPID":
		return strconv.Itoa(sh.p.parent), true
	case "UID", "EUID":
		if !sh.bash {
			return "", false
		}
		return strconv.Itoa(int(sh.p.cred.uid)), true
	}
	return "", false
}

func (sh *shell) namesWithPrefix(prefix string, star bool) *value {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(sh.vars)) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return &value{elems: names, list: true, star: star, set: true}
}

func (sh *shell) indexes(name string, star bool) *value {
	v := &value{list: true, star: star, set: true}
	vr := sh.vars[name]
	n := len(vr.list)
	if vr.set && !vr.array {
		n = 1
	}
	for i := range n {
		v.elems = append(v.elems, strconv.Itoa(i))
	}
	return v
}
