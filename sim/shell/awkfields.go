package shell

import "strings"

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
		return awkUnset
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
