package shell

import (
	"io"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// awkRun is a run of awk.
type awkRun struct {
	p       *proc
	vars    map[string]awkValue
	arrays  map[string]map[string]awkValue
	fields  []string // 0 is the record
	split   bool     // the fields are those of the record
	changed bool     // the record is to be made of the fields
	reading bool     // BEGIN is over
	files   map[string]fileStream
	regexps map[string]*boundedRegexp
	status  int
	held    int
}

// awkNotSimulated are the variables that a program may not use.
var awkNotSimulated = map[string]bool{"ARGC": true, "ARGV": true, "CONVFMT": true, "OFMT": true}

func awk(p *proc, args []string) int {
	r := &awkRun{p: p, vars: map[string]awkValue{"FS": awkStr(" "), "OFS": awkStr(" "), "ORS": awkStr("\n"), "SUBSEP": awkStr("\x1c"), "RS": awkStr("\n"), "NR": awkNum(0), "FNR": awkNum(0)}, arrays: map[string]map[string]awkValue{}, files: map[string]fileStream{}, regexps: map[string]*boundedRegexp{}}
	defer r.release()
	program, rest, ok := r.parseArgs(args)
	if !ok {
		return 1
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
	if r.status != 0 {
		return r.status
	}
	return status
}

// release closes the files and frees the variables, also of a process that is killed.
func (r *awkRun) release() {
	for _, f := range r.files {
		f.close()
	}
	r.p.hold(-r.held)
}

// parseArgs sets the variables of the options and returns the program and its operands.
// ok is false if an error was reported.
func (r *awkRun) parseArgs(args []string) (program string, rest []string, ok bool) {
	hasProgram := false
	for rest = args[1:]; len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-'; {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			break
		}
		value := arg[2:]
		if strings.IndexByte("Fvf", arg[1]) < 0 {
			r.p.fail("unrecognized option: %s", arg)
			return "", nil, false
		}
		if value == "" {
			if len(rest) == 0 {
				r.p.fail("option requires an argument: %s", arg)
				return "", nil, false
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
			text, err := r.p.readScript(value)
			if err != nil {
				r.p.fail("can't open '%s': %s", value, errText(err))
				return "", nil, false
			}
			program, hasProgram = program+text+"\n", true
		}
	}
	if hasProgram {
		return program, rest, true
	}
	if len(rest) == 0 {
		r.p.errorf("usage: awk [-F SEP] [-v VAR=VAL] [-f FILE | PROGRAM] [FILE]...")
		return "", nil, false
	}
	return rest[0], rest[1:], true
}

// run runs the rules: BEGIN, then all others for each record, then END, also after an exit.
func (r *awkRun) run(rules []*awkRule, operands []string) (status int) {
	reads, exited := false, false
	for _, rule := range rules {
		reads = reads || !rule.begin
		if rule.begin && !exited {
			exited = r.exec(rule.action) == awkExit
		}
	}
	if reads && !exited {
		status = r.readInput(rules, operands)
	}
	for _, rule := range rules {
		if rule.end && r.exec(rule.action) == awkExit {
			break
		}
	}
	return status
}

// readInput runs the rules for each record of the files until a rule exits. The operands
// are files and assignments, which hold for the files after them.
func (r *awkRun) readInput(rules []*awkRule, operands []string) (status int) {
	files := 0
	for _, operand := range operands {
		if name, value, ok := strings.Cut(operand, "="); ok && syntax.ValidName(name) {
			r.set(name, awkValue{s: ansiC(value), input: true})
			continue
		}
		files++
		n, exited := r.readFile(rules, operand)
		status = max(status, n)
		if exited {
			return status
		}
	}
	if files == 0 {
		status, _ = r.readFile(rules, "-")
	}
	return status
}

// readFile runs the rules for each record of a file until one exits.
func (r *awkRun) readFile(rules []*awkRule, name string) (status int, exited bool) {
	delim := r.vars["RS"].text()[0]
	status = r.p.eachInput([]string{name}, func(name string, in io.Reader) error {
		r.set("FILENAME", awkStr(name))
		r.set("FNR", awkNum(0))
		return r.p.records(in, delim, func(line []byte, _ bool) bool {
			r.reading = true
			for _, counter := range []string{"NR", "FNR"} {
				r.set(counter, awkNum(r.vars[counter].number()+1))
			}
			r.record(string(line))
			exited = r.runRules(rules) == awkExit
			return !exited
		})
	})
	return status, exited
}

// runRules runs the rules that select the record.
func (r *awkRun) runRules(rules []*awkRule) awkFlow {
	for _, rule := range rules {
		if rule.begin || rule.end || !r.selects(rule) {
			continue
		}
		if rule.action == nil {
			r.write(r.p.stdout(), r.field(0).s+r.vars["ORS"].text())
			continue
		}
		if f := r.exec(rule.action); f == awkExit || f == awkNextRecord {
			return f
		}
	}
	return awkNext
}

// selects reports whether the pattern of a rule selects the record.
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
	switch {
	case awkNotSimulated[name]:
		failExpansion("%s is not simulated", name)
	case name == "RS" && len(v.text()) != 1:
		failExpansion("RS of no or several characters is not simulated")
	case name == "RS" && r.reading:
		failExpansion("a change of RS after the first record is not simulated")
	case name == "FS" && r.reading:
		r.splitFields() // the record is split as it was read
	}
	r.hold(len(v.s) - len(r.vars[name].s))
	if _, ok := r.vars[name]; !ok {
		r.hold(64 + len(name))
	}
	r.vars[name] = v
	if name == "NF" && v.isNum {
		r.resize(int(max(0, min(v.n, 10_000))))
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
