package shell

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

func pwd(p *proc, _ []string) int {
	p.print(p.dir + "\n")
	return 0
}

// modeString shows a mode as ls does.
func modeString(mode fs.FileMode) string {
	kind := byte('-')
	switch {
	case mode.IsDir():
		kind = 'd'
	case mode&fs.ModeSymlink != 0:
		kind = 'l'
	case mode&fs.ModeCharDevice != 0:
		kind = 'c'
	}
	b := []byte{kind}
	bits := unixMode(mode)
	for i, c := range "rwxrwxrwx" {
		if bits&(1<<(8-i)) == 0 {
			c = '-'
		}
		b = append(b, byte(c))
	}
	for _, s := range []struct {
		bit  uint32
		at   int
		c, x byte
	}{{0o4000, 3, 'S', 's'}, {0o2000, 6, 'S', 's'}, {0o1000, 9, 'T', 't'}} {
		if bits&s.bit != 0 {
			if b[s.at] == 'x' {
				b[s.at] = s.x
			} else {
				b[s.at] = s.c
			}
		}
	}
	return string(b)
}

// owner returns the names of the user and group of a file.
func (p *proc) owner(info fileInfo) (user, group string) {
	user, group = strconv.Itoa(info.uid), strconv.Itoa(info.gid)
	if u, ok := p.m.userByID(info.uid); ok {
		user = u.name
	}
	if name := p.m.groupName(info.gid); name != "" {
		group = name
	}
	return user, group
}

func humanSize(n int64) string {
	x, unit := float64(n), 0
	for x >= 1024 && unit < 5 {
		x /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%.1f%c", x, "KMGTP"[unit-1])
}

func ls(p *proc, args []string) int {
	f, names := p.parseFlags(args, "laA1RdhtrSFinpLq", map[string]byte{"all": 'a', "recursive": 'R', "color": 'q', "human-readable": 'h', "directory": 'd', "almost-all": 'A', "reverse": 'r'})
	if f.has('n') {
		f['l'] = ""
	}
	explicit := len(names) > 0
	if !explicit {
		names = []string{"."}
	}
	l := lister{p: p, f: f}
	var files []fileInfo
	var dirs []string
	for _, name := range names {
		info, err := p.m.fs.stat(p.cred, p.abs(name), !f.has('l') || f.has('L') || strings.HasSuffix(name, "/"))
		if err != nil {
			info, err = p.m.fs.stat(p.cred, p.abs(name), false)
		}
		if err != nil {
			l.status = p.fail("%s: %s", name, errText(err))
			continue
		}
		info.name = name
		if info.IsDir() && !f.has('d') {
			dirs = append(dirs, name)
			continue
		}
		files = append(files, info)
	}
	l.list(files)
	for i, dir := range dirs {
		if len(names) > 1 || f.has('R') {
			if i > 0 || len(files) > 0 {
				p.print("\n")
			}
			p.print(dir + ":\n")
		}
		l.dir(dir)
	}
	return l.status
}

// lister is a run of ls.
type lister struct {
	p      *proc
	f      flags
	status int
	depth  int
}

func (l *lister) dir(name string) {
	entries, err := l.p.m.fs.readDir(l.p.cred, l.p.abs(name))
	if err != nil {
		l.status = l.p.fail("can't open '%s': %s", name, errText(err))
		return
	}
	var shown []fileInfo
	if l.f.has('a') {
		for _, dot := range []string{".", ".."} {
			if info, err := l.p.m.fs.stat(l.p.cred, l.p.abs(name)+"/"+dot, true); err == nil {
				info.name = dot
				shown = append(shown, info)
			}
		}
	}
	for _, e := range entries {
		l.p.step(1)
		if l.f.has('a') || l.f.has('A') || !strings.HasPrefix(e.name, ".") {
			shown = append(shown, e)
		}
	}
	if l.f.has('l') {
		l.p.print("total 0\n")
	}
	l.list(shown)
	if !l.f.has('R') || l.depth > 100 {
		return
	}
	l.depth++
	defer func() { l.depth-- }()
	for _, e := range shown {
		if e.IsDir() && e.name != "." && e.name != ".." {
			at := strings.TrimSuffix(name, "/") + "/" + e.name
			l.p.print("\n" + at + ":\n")
			l.dir(at)
		}
	}
}

func (l *lister) list(infos []fileInfo) {
	if l.f.has('t') {
		slices.SortStableFunc(infos, func(a, b fileInfo) int { return b.modTime.Compare(a.modTime) })
	}
	if l.f.has('S') {
		slices.SortStableFunc(infos, func(a, b fileInfo) int { return int(b.size - a.size) })
	}
	if l.f.has('r') {
		slices.Reverse(infos)
	}
	if !l.f.has('l') && !l.f.has('1') && l.p.isTerminal(1) && len(infos) > 0 {
		var names []string
		for _, info := range infos {
			names = append(names, l.name(info))
		}
		if line := strings.Join(names, "  "); len(line) <= 80 {
			l.p.print(line + "\n")
			return
		}
	}
	for _, info := range infos {
		l.p.step(2)
		if l.f.has('i') {
			l.p.printf("%7d ", 1)
		}
		if !l.f.has('l') {
			l.p.print(l.name(info) + "\n")
			continue
		}
		l.long(info)
	}
}

func (l *lister) name(info fileInfo) string {
	suffix := ""
	if l.f.has('F') || l.f.has('p') {
		switch {
		case info.IsDir():
			suffix = "/"
		case l.f.has('p'):
		case info.mode&fs.ModeSymlink != 0:
			suffix = "@"
		case info.mode&0o111 != 0:
			suffix = "*"
		}
	}
	return info.name + suffix
}

func (l *lister) long(info fileInfo) {
	user, group := l.p.owner(info)
	if l.f.has('n') {
		user, group = strconv.Itoa(info.uid), strconv.Itoa(info.gid)
	}
	length := strconv.FormatInt(info.size, 10)
	if l.f.has('h') {
		length = humanSize(info.size)
	}
	name := l.name(info)
	if info.target != "" && info.mode&fs.ModeSymlink != 0 {
		name += " -> " + info.target
	}
	l.p.printf("%s %4d %-8s %-8s %9s %s %s\n", modeString(info.mode), info.links, user, group, length, info.modTime.UTC().Format("Jan _2 15:04"), name)
}
