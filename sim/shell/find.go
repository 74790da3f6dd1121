package shell

import (
	"fmt"
	"path"
	"strings"
)

// finder is a run of find.
type finder struct {
	p              *proc
	args           []string
	pos            int
	minimum, most  int
	action, prune  bool
	contentFirst   bool // a directory comes after what is in it
	batches        []*findBatch
	status, nested int
}

func find(p *proc, args []string) int {
	f := &finder{p: p, args: args[1:], most: maxTree}
	var roots []string
	for f.pos < len(f.args) && !strings.HasPrefix(f.args[f.pos], "-") && f.args[f.pos] != "(" && f.args[f.pos] != "!" {
		roots = append(roots, f.args[f.pos])
		f.pos++
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	test, err := f.or()
	if err == nil && f.pos < len(f.args) {
		err = fmt.Errorf("unexpected '%s'", f.args[f.pos])
	}
	if err != nil {
		return p.fail("%v", err)
	}
	for _, root := range roots {
		f.visit(root, 0, test)
	}
	for _, b := range f.batches {
		f.flush(b)
	}
	return f.status
}

func (f *finder) visit(name string, depth int, test findTest) {
	f.p.step(4)
	info, err := f.p.m.fs.stat(f.p.cred, f.p.abs(name), false)
	if err != nil {
		f.status = f.p.fail("%s: %s", name, errText(err))
		return
	}
	info.name = path.Base(name)
	f.prune = false
	apply := func() {
		if depth >= f.minimum && test(name, info) && !f.action {
			f.p.print(name + "\n")
		}
	}
	if !f.contentFirst {
		apply()
	}
	if info.IsDir() && depth < f.most && !f.prune {
		entries, err := f.p.m.fs.readDir(f.p.cred, f.p.abs(name))
		if err != nil {
			f.status = f.p.fail("%s: %s", name, errText(err))
		}
		for _, e := range entries {
			f.visit(strings.TrimSuffix(name, "/")+"/"+e.name, depth+1, test)
		}
	}
	if f.contentFirst {
		apply()
	}
}

func (f *finder) peek() string {
	if f.pos < len(f.args) {
		return f.args[f.pos]
	}
	return ""
}

func (f *finder) or() (findTest, error) {
	if f.nested++; f.nested > 50 {
		return nil, fmt.Errorf("nested too deeply")
	}
	defer func() { f.nested-- }()
	left, err := f.and()
	for err == nil && (f.peek() == "-o" || f.peek() == "-or") {
		f.pos++
		a := left
		var b findTest
		if b, err = f.and(); err == nil {
			left = func(name string, info fileInfo) bool { return a(name, info) || b(name, info) }
		}
	}
	return left, err
}

func (f *finder) and() (findTest, error) {
	var tests []findTest
	for f.pos < len(f.args) && f.peek() != "-o" && f.peek() != "-or" && f.peek() != ")" {
		if f.peek() == "-a" || f.peek() == "-and" {
			f.pos++
			continue
		}
		t, err := f.primary()
		if err != nil {
			return nil, err
		}
		tests = append(tests, t)
	}
	return func(name string, info fileInfo) bool {
		for _, t := range tests {
			if !t(name, info) {
				return false
			}
		}
		return true
	}, nil
}
