package shell

import (
	"io"
	"strings"
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
	for _, f := range r.files {
		f.close()
	}
	p.hold(-r.held)
	if r.status != 0 {
		return r.status
	}
	return status
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
	status, exited := r.readInput(rules, r.assignOperands(names))
	for _, rule := range rules {
		if rule.end && (!exited || r.status == 0) && r.exec(rule.action) == awkExit {
			break
		}
	}
	return status
}

// assignOperands makes the assignments among the operands, and returns the others: files.
func (r *awkRun) assignOperands(operands []string) (files []string) {
	for _, name := range operands {
		if k, v, ok := strings.Cut(name, "="); ok && k != "" && !strings.Contains(k, "/") {
			r.set(k, awkValue{s: v, input: true})
			continue
		}
		files = append(files, name)
	}
	return files
}

// readInput runs the rules for each record of the files until a rule exits.
func (r *awkRun) readInput(rules []*awkRule, files []string) (status int, exited bool) {
	delim := byte('\n')
	if rs := r.vars["RS"].text(); len(rs) == 1 {
		delim = rs[0]
	}
	count := 0
	status = r.p.eachInput(files, func(name string, in io.Reader) error {
		perFile := 0
		r.set("FILENAME", awkStr(name))
		err := r.p.records(in, delim, func(line []byte, _ bool) bool {
			count++
			perFile++
			r.set("NR", awkNum(float64(count)))
			r.set("FNR", awkNum(float64(perFile)))
			r.record(string(line))
			exited = r.runRules(rules) == awkExit
			return !exited
		})
		if exited {
			return errStop
		}
		return err
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
