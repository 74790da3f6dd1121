package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// primary parses a test, an action or what is in parentheses.
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
		f.action, f.contentFirst = true, true
		return func(name string, _ fileInfo) bool {
			if name == "." {
				return true // as find does: the working directory stays
			}
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
	case "-depth":
		f.contentFirst = true
		fallthrough
	case "-true", "-xdev", "-mount":
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

// test returns a test that has an argument.
func (f *finder) test(op, arg string) (findTest, error) {
	switch op {
	case "-name":
		return func(_ string, info fileInfo) bool { return f.p.match(arg, info.name) }, nil
	case "-iname":
		arg = strings.ToLower(arg)
		return func(_ string, info fileInfo) bool { return f.p.match(arg, strings.ToLower(info.name)) }, nil
	case "-path", "-wholename":
		return func(name string, _ fileInfo) bool { return f.p.match(arg, name) }, nil
	case "-type":
		if strings.Trim(arg, "fdlcbps,") != "" || arg == "" {
			return nil, fmt.Errorf("%s: invalid argument '%s'", op, arg)
		}
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
		return permTest(arg)
	case "-newer":
		ref, err := f.p.m.fs.stat(f.p.cred, f.p.abs(arg), true)
		if err != nil {
			return nil, fmt.Errorf("%s: %s", arg, errText(err))
		}
		return func(_ string, info fileInfo) bool { return info.modTime.After(ref.modTime) }, nil
	}
	return f.numberTest(op, arg)
}

// permTest returns the test -perm: all bits, some (/) or at least these (-).
func permTest(arg string) (findTest, error) {
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
}

// numberTest returns a test that has a number: more than (+), less than (-) or exactly n.
func (f *finder) numberTest(op, arg string) (findTest, error) {
	n, err := strconv.ParseInt(strings.TrimRight(strings.TrimLeft(arg, "+-"), "ckMGb"), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("%s: invalid argument '%s'", op, arg)
	}
	always := func(string, fileInfo) bool { return true }
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

// findBatch collects the files of -exec … +.
type findBatch struct{ command, files []string }

// findTest decides about a file.
type findTest func(name string, info fileInfo) bool
