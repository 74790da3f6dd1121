package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declClause runs export, readonly, local and declare.
func (sh *shell) declClause(cmd *syntax.DeclClause) flow {
	d := declaration{sh: sh, name: cmd.Variant.Value}
	sh.status = 0
	for _, as := range cmd.Args {
		if as.Name == nil || as.Naked {
			word := as.Value
			if as.Name != nil {
				word = &syntax.Word{Parts: []syntax.WordPart{as.Name}}
			}
			for _, arg := range sh.fields([]*syntax.Word{word}) {
				d.arg(arg)
			}
			continue
		}
		d.begin(as.Name.Value)
		sh.assign(as)
		d.end(as.Name.Value)
	}
	d.finish()
	return next
}

func builtinDeclare(sh *shell, args []string) flow {
	d := declaration{sh: sh, name: args[0]}
	sh.status = 0
	for _, arg := range args[1:] {
		d.arg(arg)
	}
	d.finish()
	return next
}

// declaration is one run of export, readonly, local or declare.
type declaration struct {
	sh             *shell
	name           string
	flags          string
	seen, operands bool
}

func (d *declaration) arg(arg string) {
	if !d.operands && (strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "+")) && len(arg) > 1 {
		if strings.Contains(arg, "A") {
			failExpansion("%s: associative arrays are not simulated", d.name)
		}
		known := "gxrap"
		if d.name == "export" {
			known = "np"
		}
		if c := strings.Trim(arg[1:], known); c != "" || arg[0] == '+' {
			failExpansion("%s: option %s is not simulated", d.name, arg)
		}
		d.flags += arg[1:]
		return
	}
	d.operands = true
	name, value, assigns := strings.Cut(arg, "=")
	if !syntax.ValidName(name) {
		d.sh.errorf("%s: %s: bad variable name", d.name, name)
		d.sh.status = 2
		return
	}
	d.begin(name)
	if assigns {
		d.sh.set(name, value)
	}
	d.end(name)
}

// begin makes the variable local if it is to be.
func (d *declaration) begin(name string) {
	d.seen = true
	sh := d.sh
	if strings.Contains(d.flags, "p") {
		failExpansion("%s: option -p with names is not simulated", d.name)
	}
	if d.name == "export" || d.name == "readonly" || strings.Contains(d.flags, "g") {
		return
	}
	if sh.inFunc == 0 || len(sh.locals) == 0 {
		if d.name == "local" {
			failExpansion("local: not in a function")
		}
		return
	}
	frame := sh.locals[len(sh.locals)-1]
	if frame == nil {
		frame = map[string]variable{}
		sh.locals[len(sh.locals)-1] = frame
	}
	if _, ok := frame[name]; ok {
		return
	}
	sh.checkWritable(name)
	old := sh.vars[name]
	frame[name] = old
	if old.array || old.set {
		old.array, old.list, old.str = false, nil, ""
		old.set = false
		sh.setVar(name, old)
	}
}

// end sets the attributes.
func (d *declaration) end(name string) {
	v := d.sh.vars[name]
	if d.name == "export" || strings.Contains(d.flags, "x") && d.name != "readonly" {
		v.exported = !strings.Contains(d.flags, "n")
	}
	if d.name == "readonly" || strings.Contains(d.flags, "r") {
		v.readonly = true
	}
	if strings.Contains(d.flags, "a") && !v.set {
		v.array = true
	}
	d.sh.setVar(name, v)
}

// finish prints the variables if none was named.
func (d *declaration) finish() {
	if d.seen {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(d.sh.vars)) {
		v := d.sh.vars[name]
		if d.name == "export" && !v.exported || d.name == "readonly" && !v.readonly {
			continue
		}
		text := name
		if v.set {
			text += "=" + quoted(v.str)
		}
		d.sh.p.printf("%s %s\n", d.name, text)
	}
}

// quoted quotes a string even if it need not be.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" }

func builtinUnset(sh *shell, args []string) flow {
	sh.status = 0
	funcs := false
	for _, arg := range args[1:] {
		switch name, index, isElement := strings.Cut(arg, "["); {
		case arg == "-f":
			funcs = true
		case arg == "-v":
			funcs = false
		case strings.HasPrefix(arg, "-"):
			return sh.fail("unset: illegal option %s", arg)
		case funcs:
			sh.hold(-sh.funcs[arg].size)
			delete(sh.funcs, arg)
		case isElement:
			sh.unsetElement(name, strings.TrimSuffix(index, "]"))
		default:
			if _, isVar := sh.vars[arg]; isVar {
				sh.unset(arg)
				continue
			}
			sh.hold(-sh.funcs[arg].size)
			delete(sh.funcs, arg)
		}
	}
	return next
}

// unsetElement removes an element of an array: the last one, or it becomes empty.
func (sh *shell) unsetElement(name, index string) {
	v := sh.vars[name]
	i := sh.number(index, 0)
	if !v.array || i < 0 || i >= int64(len(v.list)) {
		return
	}
	sh.checkWritable(name)
	list := slices.Clone(v.list)
	if i == int64(len(list))-1 {
		list = list[:i]
	} else {
		list[i] = ""
	}
	v.list = list
	sh.setVar(name, v)
}
