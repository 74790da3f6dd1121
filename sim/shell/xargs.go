package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxXargsItems is how many items a command gets at the most.
const maxXargsItems = 1000

// xargsRun is a run of xargs.
type xargsRun struct {
	p       *proc
	command []string
	verbose bool
	status  int
}

func xargs(p *proc, args []string) int {
	end := xargsCommand(args)
	f, _ := p.parseFlags(args[:end], "0rtn:I:P:d:L:", map[string]byte{"null": '0', "no-run-if-empty": 'r', "max-args": 'n', "replace": 'I', "max-procs": 'P', "delimiter": 'd', "verbose": 't'})
	x := xargsRun{p: p, command: args[end:], verbose: f.has('t')}
	if len(x.command) == 0 {
		x.command = []string{"echo"}
	}
	most := maxXargsItems
	for _, option := range []byte("nL") {
		if !f.has(option) {
			continue
		}
		n, err := strconv.Atoi(f[option])
		if err != nil || n < 1 {
			return p.fail("invalid number '%s'", f[option])
		}
		most = min(n, most)
	}
	data, release, err := p.readAll(p.stdin())
	defer release()
	if err != nil {
		return p.fail("%s", errText(err))
	}
	items, err := x.items(string(data), f, most)
	if err != nil {
		return p.fail("%v", err)
	}
	size := 24 * len(items)
	p.hold(size)
	defer p.hold(-size)
	// The programs must not read what is meant for xargs.
	p.fds.set(p.m, 0, p.m.newFile(device("null")))
	if mark, ok := f['I']; ok {
		x.replaceEach(slices.Concat(items...), mark)
	} else if len(items) > 0 || !f.has('r') {
		x.appendAll(items)
	}
	return x.status
}

// xargsCommand returns the index of the command, at which the options of xargs end.
func xargsCommand(args []string) int {
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
	return min(end, len(args))
}

// replaceEach runs the command for each item, which takes the place of mark.
func (x *xargsRun) replaceEach(items []string, mark string) {
	for _, item := range items {
		argv := make([]string, len(x.command))
		for i, arg := range x.command {
			if n := strings.Count(arg, mark); mark != "" && n > 0 {
				x.p.hold(n * len(item))
				argv[i] = strings.ReplaceAll(arg, mark, item)
				x.p.hold(-n * len(item))
			} else {
				argv[i] = arg
			}
		}
		if !x.run(argv) {
			return
		}
	}
}

// appendAll runs the command with each of the groups of items at its end, and once if there
// are none.
func (x *xargsRun) appendAll(groups [][]string) {
	if len(groups) == 0 {
		x.run(x.command)
	}
	for _, group := range groups {
		if !x.run(append(slices.Clone(x.command), group...)) {
			return
		}
	}
}

// items splits the input into groups of at most so many items, or of those of so many lines.
func (x *xargsRun) items(s string, f flags, most int) (groups [][]string, err error) {
	if !f.has('L') {
		items, err := xargsItems(s, f)
		return slices.Collect(slices.Chunk(items, most)), err
	}
	lines := slices.DeleteFunc(strings.Split(s, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	for chunk := range slices.Chunk(lines, most) {
		items, err := xargsItems(strings.Join(chunk, "\n"), f)
		if err != nil {
			return nil, err
		}
		groups = append(groups, items)
	}
	return groups, nil
}

// run runs a command and reports whether xargs goes on.
func (x *xargsRun) run(argv []string) bool {
	if x.verbose {
		x.p.errorf("%s", strings.Join(argv, " "))
	}
	size := totalLen(argv)
	x.p.hold(size)
	defer x.p.hold(-size)
	switch n := x.p.child(argv); {
	case n == 126 || n == 127:
		x.status = n
		return false
	case n == 255:
		x.status = 124
		return false
	case n != 0:
		x.status = 123
	}
	return true
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
