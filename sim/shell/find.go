package shell

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// child runs another program in the foreground and returns its status, 127 or
// 126 if it cannot be started.
func (p *proc) child(args []string) int {
	defer p.enter()()
	run, status, err := p.find(args, p.getenv("PATH"))
	if err != nil {
		p.fail("%v", err)
		return status
	}
	c, err := p.m.newProc(p.ctx, p, args)
	if err != nil {
		p.fail("can't fork: %s", errText(err))
		return 1
	}
	c.fds = p.fds.dup()
	c.level = p.level
	status = c.finish(func() int { return run(c, args) })
	p.since = c.since
	p.abortIfDone()
	return status
}

func xargs(p *proc, args []string) int {
	// Options end at the command.
	end := 1
	for end < len(args) && strings.HasPrefix(args[end], "-") && len(args[end]) > 1 {
		if arg := args[end]; arg == "--" {
			end++
			break
		} else if len(arg) == 2 && strings.IndexByte("nIPdLsaE", arg[1]) >= 0 {
			end++
		}
		end++
	}
	end = min(end, len(args))
	f, _, ok := p.parseFlags(args[:end], "0rtn:I:P:d:L:s:xp", map[string]byte{"null": '0', "no-run-if-empty": 'r', "max-args": 'n', "replace": 'I', "max-procs": 'P', "delimiter": 'd', "verbose": 't'})
	if !ok {
		return 1
	}
	command := args[end:]
	if len(command) == 0 {
		command = []string{"echo"}
	}
	most := 1000
	if v := f['n'] + f['L']; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return p.fail("invalid number '%s'", v)
		}
		most = min(n, most)
	}
	data, release, err := p.readAll(p.stdin())
	defer release()
	if err != nil {
		return p.fail("%s", errText(err))
	}
	items, err := xargsItems(string(data), f)
	if err != nil {
		return p.fail("%v", err)
	}
	// The programs must not read what is meant for xargs.
	p.fds.set(p.m, 0, p.m.newFile(device("null")))
	status := 0
	run := func(argv []string) bool {
		if f.has('t') {
			p.errorf("%s", strings.Join(argv, " "))
		}
		size := totalLen(argv)
		p.hold(size)
		defer p.hold(-size)
		switch n := p.child(argv); {
		case n == 126 || n == 127:
			status = n
			return false
		case n == 255:
			status = 124
			return false
		case n != 0:
			status = 123
		}
		return true
	}
	if mark, ok := f['I']; ok {
		for _, item := range items {
			argv := make([]string, len(command))
			for i, arg := range command {
				if n := strings.Count(arg, mark); mark != "" && n > 0 {
					p.hold(n * len(item))
					argv[i] = strings.ReplaceAll(arg, mark, item)
					p.hold(-n * len(item))
				} else {
					argv[i] = arg
				}
			}
			if !run(argv) {
				break
			}
		}
		return status
	}
	if len(items) == 0 && !f.has('r') {
		run(command)
	}
	for chunk := range slices.Chunk(items, most) {
		if !run(append(slices.Clone(command), chunk...)) {
			break
		}
	}
	return status
}

// xargsItems splits the input of xargs.
func xargsItems(s string, f flags) (items []string, err error) {
	delim := ""
	switch {
	case f.has('0'):
		delim = "\x00"
	case f.has('d'):
		delim = ansiC(f['d'])
	case f.has('I'):
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); line != "" {
				items = append(items, line)
			}
		}
		return items, nil
	}
	if delim != "" {
		for item := range strings.SplitSeq(strings.TrimSuffix(s, delim), delim) {
			if item != "" {
				items = append(items, item)
			}
		}
		return items, nil
	}
	var b strings.Builder
	started := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[i+1:], c)
			if end < 0 {
				return nil, fmt.Errorf("unmatched %s quote", map[byte]string{'\'': "single", '"': "double"}[c])
			}
			b.WriteString(s[i+1 : i+1+end])
			started = true
			i += end + 1
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
			started = true
		case c == ' ' || c == '\t' || c == '\n':
			if started {
				items = append(items, b.String())
			}
			b.Reset()
			started = false
		default:
			b.WriteByte(c)
			started = true
		}
	}
	if started {
		items = append(items, b.String())
	}
	return items, nil
}

// finder is a run of find.
type finder struct {
	p              *proc
	args           []string
	pos            int
	minimum, most  int
	action, prune  bool
	deleteFiles    bool
	batches        []*findBatch
	status, nested int
}

// findBatch collects the files of -exec … +.
type findBatch struct{ command, files []string }

// findTest decides about a file.
type findTest func(name string, info fileInfo) bool

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
	if !f.deleteFiles {
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
	if f.deleteFiles {
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

func (f *finder) primary() (findTest, error) {
	op := f.peek()
	f.pos++
	switch op {
	case "!", "-not":
		if f.nested++; f.nested > 50 || f.pos >= len(f.args) {
			return nil, fmt.Errorf("bad expression after '!'")
		}
		defer func() { f.nested-- }()
		t, err := f.primary()
		return func(name string, info fileInfo) bool { return !t(name, info) }, err
	case "(":
		t, err := f.or()
		if err == nil && f.peek() != ")" {
			err = fmt.Errorf("unmatched '('")
		}
		f.pos++
		return t, err
	case "-print":
		f.action = true
		return func(name string, _ fileInfo) bool { f.p.print(name + "\n"); return true }, nil
	case "-print0":
		f.action = true
		return func(name string, _ fileInfo) bool { f.p.print(name + "\x00"); return true }, nil
	case "-delete":
		f.action, f.deleteFiles = true, true
		return func(name string, _ fileInfo) bool {
			if err := f.p.m.fs.remove(f.p.cred, f.p.abs(name)); err != nil {
				f.status = f.p.fail("%s: %s", name, errText(err))
				return false
			}
			return true
		}, nil
	case "-prune":
		return func(string, fileInfo) bool { f.prune = true; return true }, nil
	case "-empty":
		return func(name string, info fileInfo) bool {
			if info.IsDir() {
				entries, err := f.p.m.fs.readDir(f.p.cred, f.p.abs(name))
				return err == nil && len(entries) == 0
			}
			return info.mode.IsRegular() && info.size == 0
		}, nil
	case "-true", "-xdev", "-mount", "-depth", "-follow":
		return func(string, fileInfo) bool { return true }, nil
	case "-exec":
		return f.exec()
	}
	if f.pos >= len(f.args) {
		return nil, fmt.Errorf("unrecognized: %s", op)
	}
	arg := f.args[f.pos]
	f.pos++
	return f.test(op, arg)
}

func (f *finder) test(op, arg string) (findTest, error) {
	always := func(string, fileInfo) bool { return true }
	switch op {
	case "-name":
		return func(_ string, info fileInfo) bool { return f.p.match(arg, info.name) }, nil
	case "-iname":
		arg = strings.ToLower(arg)
		return func(_ string, info fileInfo) bool { return f.p.match(arg, strings.ToLower(info.name)) }, nil
	case "-path", "-wholename":
		return func(name string, _ fileInfo) bool { return f.p.match(arg, name) }, nil
	case "-type":
		return func(_ string, info fileInfo) bool {
			kind := modeString(info.mode)[:1]
			if kind == "-" {
				kind = "f"
			}
			return strings.Contains(arg, kind)
		}, nil
	case "-user":
		return func(_ string, info fileInfo) bool {
			user, _ := f.p.owner(info)
			return user == arg || strconv.Itoa(info.uid) == arg
		}, nil
	case "-perm":
		want, err := strconv.ParseUint(strings.TrimLeft(arg, "-/"), 8, 12)
		return func(_ string, info fileInfo) bool {
			bits := uint64(unixMode(info.mode))
			switch arg[0] {
			case '-':
				return bits&want == want
			case '/':
				return bits&want != 0
			}
			return bits == want
		}, err
	case "-newer":
		ref, err := f.p.m.fs.stat(f.p.cred, f.p.abs(arg), true)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", arg, errText(err))
		}
		return func(_ string, info fileInfo) bool { return info.modTime.After(ref.modTime) }, nil
	}
	n, err := strconv.ParseInt(strings.TrimRight(strings.TrimLeft(arg, "+-"), "ckMGbw"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s: invalid argument '%s'", op, arg)
	}
	compareTo := func(x int64) bool {
		switch arg[0] {
		case '+':
			return x > n
		case '-':
			return x < n
		}
		return x == n
	}
	switch op {
	case "-maxdepth":
		f.most = min(int(n), maxTree)
		return always, nil
	case "-mindepth":
		f.minimum = int(n)
		return always, nil
	case "-mtime", "-mmin":
		unit := 24 * time.Hour
		if op == "-mmin" {
			unit = time.Minute
		}
		return func(_ string, info fileInfo) bool { return compareTo(int64(time.Since(info.modTime) / unit)) }, nil
	case "-size":
		unit := map[byte]int64{'c': 1, 'k': 1 << 10, 'M': 1 << 20, 'G': 1 << 30}[arg[len(arg)-1]]
		if unit == 0 {
			unit = 512
		}
		return func(_ string, info fileInfo) bool { return compareTo((info.size + unit - 1) / unit) }, nil
	}
	return nil, fmt.Errorf("unrecognized: %s", op)
}

// exec parses -exec command ; or +.
func (f *finder) exec() (findTest, error) {
	f.action = true
	end := f.pos
	for end < len(f.args) && f.args[end] != ";" && !(f.args[end] == "+" && end > f.pos && f.args[end-1] == "{}") {
		end++
	}
	if end == len(f.args) || end == f.pos {
		return nil, fmt.Errorf("-exec requires an argument that ends with ; or +")
	}
	command, plus := f.args[f.pos:end], f.args[end] == "+"
	f.pos = end + 1
	if plus {
		b := &findBatch{command: command[:len(command)-1]}
		f.batches = append(f.batches, b)
		return func(name string, _ fileInfo) bool {
			f.p.hold(len(name) + 16)
			b.files = append(b.files, name)
			if len(b.files) >= 1000 {
				f.flush(b)
			}
			return true
		}, nil
	}
	return func(name string, _ fileInfo) bool {
		argv := make([]string, len(command))
		for i, arg := range command {
			argv[i] = strings.ReplaceAll(arg, "{}", name)
		}
		return f.p.child(argv) == 0
	}, nil
}

func (f *finder) flush(b *findBatch) {
	if len(b.files) == 0 {
		return
	}
	if f.p.child(append(slices.Clone(b.command), b.files...)) != 0 {
		f.status = 1
	}
	f.p.hold(-totalLen(b.files) - 15*len(b.files))
	b.files = nil
}

func which(p *proc, args []string) int {
	status := 0
	for _, name := range args[1:] {
		at, err := p.look(name, p.getenv("PATH"))
		if err != nil {
			status = 1
			continue
		}
		p.print(at + "\n")
	}
	return status
}
