package shell

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// awkValue is a value: a number, a string, or a string from the input that is a
// number if it looks like one.
type awkValue struct {
	s     string
	n     float64
	isNum bool
	input bool
}

func awkNum(n float64) awkValue { return awkValue{n: n, isNum: true} }

func awkStr(s string) awkValue { return awkValue{s: s} }

func (v awkValue) text() string {
	if !v.isNum {
		return v.s
	}
	if v.n == math.Trunc(v.n) && math.Abs(v.n) < 1e16 {
		return strconv.FormatInt(int64(v.n), 10)
	}
	return strconv.FormatFloat(v.n, 'g', 6, 64)
}

func (v awkValue) number() float64 {
	if v.isNum {
		return v.n
	}
	return leadingFloat(v.s)
}

// leadingFloat returns the number that a string begins with.
func leadingFloat(s string) float64 {
	s = strings.TrimLeft(s, " \t\n")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' || end == 0 && (s[end] == '-' || s[end] == '+') ||
		(s[end]|0x20) == 'e' && end > 0 && end+1 < len(s) && strings.IndexByte("0123456789+-", s[end+1]) >= 0 || (s[end] == '-' || s[end] == '+') && end > 0 && (s[end-1]|0x20) == 'e') {
		end++
	}
	for ; end > 0; end-- {
		if x, err := strconv.ParseFloat(s[:end], 64); err == nil {
			return x
		}
	}
	return 0
}

// numeric reports whether a value compares as a number.
func (v awkValue) numeric() bool {
	if v.isNum {
		return true
	}
	if !v.input {
		return false
	}
	_, err := strconv.ParseFloat(strings.TrimSpace(v.s), 64)
	return err == nil
}

func (v awkValue) truth() bool {
	if v.isNum || v.numeric() {
		return v.number() != 0
	}
	return v.s != ""
}

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

func (r *awkRun) write(w io.Writer, s string) {
	if _, err := io.WriteString(w, s); err != nil {
		failExpansion("write error: %s", errText(err))
	}
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

func (r *awkRun) print(n *awkNode) {
	args := n.args
	out := r.p.stdout()
	if n.text != "" {
		out = r.file(r.eval(args[len(args)-1]).text(), n.text)
		args = args[:len(args)-1]
	}
	var list []string
	for _, arg := range args {
		list = append(list, r.eval(arg).text())
	}
	if n.op == "printf" {
		if len(args) == 0 {
			failExpansion("printf needs a format")
		}
		r.write(out, r.sprintf(args))
		return
	}
	if len(list) == 0 {
		list = []string{r.field(0).s}
	}
	r.write(out, strings.Join(list, r.vars["OFS"].text())+r.vars["ORS"].text())
}

func (r *awkRun) file(name, mode string) io.Writer {
	switch name {
	case "/dev/stdout", "-":
		return r.p.stdout()
	case "/dev/stderr":
		return stream{r.p, 2}
	}
	if f, ok := r.files[name]; ok {
		return f
	}
	flags := syscall.O_TRUNC
	if mode == ">>" {
		flags = syscall.O_APPEND
	}
	f, err := r.p.create(name, flags)
	if err != nil {
		failExpansion("can't create %s: %s", name, errText(err))
	}
	r.files[name] = f
	return f
}

// sprintf formats: the first argument is the format.
func (r *awkRun) sprintf(args []*awkNode) string {
	var b strings.Builder
	format := r.eval(args[0]).text()
	rest := args[1:]
	arg := func() awkValue {
		if len(rest) == 0 {
			return awkValue{}
		}
		v := r.eval(rest[0])
		rest = rest[1:]
		return v
	}
	held := 0
	defer func() { r.p.hold(-held) }()
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		end := i + 1
		spec := "%"
		for end < len(format) && strings.IndexByte("-+ #0123456789.*", format[end]) >= 0 {
			if format[end] == '*' {
				spec += strconv.Itoa(int(max(-maxWidth, min(arg().number(), maxWidth))))
			} else {
				spec += format[end : end+1]
			}
			end++
		}
		if end == len(format) || len(spec) > 12 {
			failExpansion("bad format %q", format)
		}
		for _, number := range strings.FieldsFunc(spec, func(c rune) bool { return c < '0' || c > '9' }) {
			if w, _ := strconv.Atoi(number); w > maxWidth {
				failExpansion("bad format %q: too wide", format)
			}
		}
		before := b.Len()
		switch c := format[end]; c {
		case '%':
			b.WriteByte('%')
		case 'd', 'i':
			fmt.Fprintf(&b, spec+"d", int64(arg().number()))
		case 'o', 'x', 'X', 'u':
			if c == 'u' {
				c = 'd'
			}
			fmt.Fprintf(&b, spec+string(c), uint64(int64(arg().number())))
		case 'e', 'E', 'f', 'F', 'g', 'G':
			fmt.Fprintf(&b, spec+string(c), arg().number())
		case 'c':
			v := arg()
			text := firstRune(v.text())
			if v.isNum {
				text = string(rune(int(v.n)))
			}
			fmt.Fprintf(&b, spec+"s", text)
		case 's':
			fmt.Fprintf(&b, spec+"s", arg().text())
		default:
			failExpansion("bad format %q", format)
		}
		r.p.step(1)
		r.p.hold(b.Len() - before)
		held += b.Len() - before
		i = end
	}
	return b.String()
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
