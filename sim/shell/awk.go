package shell

import (
	"io"
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

// awkRun is a run of awk.
type awkRun struct {
	p       *proc
	vars    map[string]awkValue
	arrays  map[string]map[string]awkValue
	fields  []string // 0 is the record
	split   bool     // the fields are those of the record
	changed bool     // the record is to be made of the fields
	files   map[string]fileStream
	regexps map[string]*boundedRegexp
	status  int
	held    int
}

func awk(p *proc, args []string) int {
	r := &awkRun{p: p, vars: map[string]awkValue{"FS": awkStr(" "), "OFS": awkStr(" "), "ORS": awkStr("\n"), "SUBSEP": awkStr("\x1c"), "RS": awkStr("\n")}, arrays: map[string]map[string]awkValue{}, files: map[string]fileStream{}, regexps: map[string]*boundedRegexp{}}
	rest := args[1:]
	program, hasProgram := "", false
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			break
		}
		value := arg[2:]
		if strings.IndexByte("Fvf", arg[1]) < 0 {
			return p.fail("unrecognized option: %s", arg)
		}
		if value == "" {
			if len(rest) == 0 {
				return p.fail("option requires an argument: %s", arg)
			}
			value, rest = rest[0], rest[1:]
		}
		switch arg[1] {
		case 'F':
			r.set("FS", awkStr(ansiC(value)))
		case 'v':
			name, text, _ := strings.Cut(value, "=")
			r.set(name, awkValue{s: ansiC(text), input: true})
		case 'f':
			text, err := p.readScript(value)
			if err != nil {
				return p.fail("can't open '%s': %s", value, errText(err))
			}
			program, hasProgram = program+text+"\n", true
		}
	}
	if !hasProgram {
		if len(rest) == 0 {
			p.errorf("usage: awk [-F SEP] [-v VAR=VAL] [-f FILE | PROGRAM] [FILE]...")
			return 1
		}
		program, rest = rest[0], rest[1:]
	}
	rules, err := parseAwk(program)
	if err != nil {
		return p.fail("%v", err)
	}
	env := r.array("ENVIRON")
	for _, kv := range p.env {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = awkValue{s: value, input: true}
	}
	status := r.run(rules, rest)
	for _, f := range r.files {
		f.close()
	}
	p.hold(-r.held)
	if r.status != 0 {
		return r.status
	}
	return status
}

// run runs the rules: BEGIN, then all others for each record, then END.
func (r *awkRun) run(rules []*awkRule, names []string) int {
	reads := false
	for _, rule := range rules {
		reads = reads || !rule.begin
		if rule.begin && r.exec(rule.action) == awkExit {
			return 0
		}
	}
	if !reads {
		return 0
	}
	var files []string
	for _, name := range names {
		if k, v, ok := strings.Cut(name, "="); ok && k != "" && !strings.Contains(k, "/") {
			r.set(k, awkValue{s: v, input: true})
			continue
		}
		files = append(files, name)
	}
	delim := byte('\n')
	if rs := r.vars["RS"].text(); len(rs) == 1 {
		delim = rs[0]
	}
	count, exited := 0, false
	status := r.p.eachInput(files, func(name string, in io.Reader) error {
		perFile := 0
		r.set("FILENAME", awkStr(name))
		err := r.p.records(in, delim, func(line []byte, _ bool) bool {
			count++
			perFile++
			r.set("NR", awkNum(float64(count)))
			r.set("FNR", awkNum(float64(perFile)))
			r.record(string(line))
			for _, rule := range rules {
				if rule.begin || rule.end || !r.selects(rule) {
					continue
				}
				if rule.action == nil {
					r.write(r.p.stdout(), r.field(0).s+r.vars["ORS"].text())
					continue
				}
				switch r.exec(rule.action) {
				case awkExit:
					exited = true
					return false
				case awkNextRecord:
					return true
				}
			}
			return true
		})
		if exited {
			return errStop
		}
		return err
	})
	for _, rule := range rules {
		if rule.end && (!exited || r.status == 0) && r.exec(rule.action) == awkExit {
			break
		}
	}
	return status
}

func (r *awkRun) selects(rule *awkRule) bool {
	if rule.from == nil {
		return true
	}
	if rule.to == nil {
		return r.eval(rule.from).truth()
	}
	if !rule.active {
		if !r.eval(rule.from).truth() {
			return false
		}
		rule.active = true
	}
	if r.eval(rule.to).truth() {
		rule.active = false
	}
	return true
}

// hold counts memory of variables and fields.
func (r *awkRun) hold(n int) {
	r.held += n
	r.p.hold(n)
}

func (r *awkRun) set(name string, v awkValue) {
	r.hold(len(v.s) - len(r.vars[name].s))
	if _, ok := r.vars[name]; !ok {
		r.hold(64 + len(name))
	}
	r.vars[name] = v
	if name == "NF" && v.isNum {
		r.resize(int(max(0, min(v.n, 10_000))))
	}
}

func (r *awkRun) array(name string) map[string]awkValue {
	if r.arrays[name] == nil {
		r.hold(128 + len(name))
		r.arrays[name] = map[string]awkValue{}
	}
	return r.arrays[name]
}

// record sets $0.
func (r *awkRun) record(line string) {
	r.hold(len(line) - totalLen(r.fields))
	r.fields, r.split, r.changed = []string{line}, false, false
	r.hold(totalLen(r.fields) - len(line))
}

// splitFields splits the record if it was not yet.
func (r *awkRun) splitFields() {
	if len(r.fields) == 0 {
		r.fields = []string{""}
		r.hold(totalLen(r.fields))
	}
	if r.split {
		return
	}
	r.split = true
	parts := r.splitText(r.fields[0], r.vars["FS"].text())
	r.hold(totalLen(parts))
	r.fields = append(r.fields[:1], parts...)
	r.vars["NF"] = awkNum(float64(len(parts)))
}

func (r *awkRun) splitText(s, sep string) []string {
	r.p.step(1 + len(s)/64)
	switch {
	case s == "":
		return nil
	case sep == " ":
		return strings.Fields(s)
	case sep == "":
		return strings.Split(s, "")
	case len(sep) == 1 && sep != "\\":
		return strings.Split(s, sep)
	}
	re := r.regexp(sep)
	if !re.charge(r.p, len(s)) {
		failExpansion("line too long for this separator in the simulation")
	}
	return re.re.Split(s, -1)
}

func (r *awkRun) field(i int) awkValue {
	if i < 0 {
		failExpansion("access to negative field")
	}
	if i > 0 {
		r.splitFields()
	} else if r.changed {
		r.changed = false
		r.hold(-len(r.fields[0]))
		r.fields[0] = strings.Join(r.fields[1:], r.vars["OFS"].text())
		r.hold(len(r.fields[0]))
	}
	if i >= len(r.fields) {
		return awkValue{input: true}
	}
	return awkValue{s: r.fields[i], input: true}
}

func (r *awkRun) setField(i int, s string) {
	if i == 0 {
		r.record(s)
		return
	}
	if i < 0 || i > 10_000 {
		failExpansion("field %d is out of range", i)
	}
	r.splitFields()
	if i >= len(r.fields) {
		r.resize(i)
	}
	r.hold(len(s) - len(r.fields[i]))
	r.fields[i] = s
	r.changed = true
}

// resize changes the number of fields.
func (r *awkRun) resize(n int) {
	r.splitFields()
	r.hold(-totalLen(r.fields))
	for len(r.fields) <= n {
		r.fields = append(r.fields, "")
	}
	r.fields = r.fields[:n+1]
	r.hold(totalLen(r.fields))
	r.vars["NF"] = awkNum(float64(n))
	r.changed = true
}

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
	case "while", "do":
		for first := n.op == "do"; first || r.eval(n.args[0]).truth(); first = false {
			if f := r.exec(n.args[1]); f == awkBreak {
				break
			} else if f == awkNextRecord || f == awkExit {
				return f
			}
		}
	case "for":
		if n.args[0] != nil {
			r.exec(n.args[0])
		}
		for n.args[1] == nil || r.eval(n.args[1]).truth() {
			if f := r.exec(n.args[3]); f == awkBreak {
				break
			} else if f == awkNextRecord || f == awkExit {
				return f
			}
			if n.args[2] != nil {
				r.exec(n.args[2])
			}
		}
	case "forin":
		for _, key := range slices.Sorted(maps.Keys(r.arrays[n.text])) {
			r.assign(n.args[0], awkValue{s: key, input: true})
			if f := r.exec(n.args[1]); f == awkBreak {
				break
			} else if f == awkNextRecord || f == awkExit {
				return f
			}
		}
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

func (r *awkRun) regexp(pattern string) *boundedRegexp {
	if re, ok := r.regexps[pattern]; ok {
		return re
	}
	translated, err := translateRegexp(pattern, true)
	if err != nil {
		failExpansion("bad regular expression: %v", err)
	}
	re, err := compileRegexp(r.p, translated)
	if err != nil {
		failExpansion("%v", err)
	}
	if len(r.regexps) > 50 {
		clear(r.regexps)
	}
	r.regexps[pattern] = re
	return re
}

// pattern is the regular expression of an operand.
func (r *awkRun) pattern(n *awkNode) *boundedRegexp {
	if n.op == "regexp" {
		return r.regexp(n.text)
	}
	return r.regexp(r.eval(n).text())
}
