package shell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	f, names, ok := p.parseFlags(args, "laA1RdhtrSFinCpLqcuxsZ", map[string]byte{"all": 'a', "recursive": 'R', "color": 'q', "human-readable": 'h', "directory": 'd', "almost-all": 'A', "reverse": 'r'})
	if !ok {
		return 1
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
	l.list("", files)
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
	l.list(name, shown)
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

func (l *lister) list(dir string, infos []fileInfo) {
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

func touch(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "camd:r:t:h", map[string]byte{"no-create": 'c', "date": 'd', "reference": 'r'})
	if !ok {
		return 1
	}
	at := time.Now()
	if f.has('r') {
		info, err := p.m.fs.stat(p.cred, p.abs(f['r']), true)
		if err != nil {
			return p.fail("%s: %s", f['r'], errText(err))
		}
		at = info.modTime
	}
	if f.has('d') {
		t, err := parseDate(f['d'])
		if err != nil {
			return p.fail("%v", err)
		}
		at = t
	}
	status := 0
	for _, name := range names {
		err := p.m.fs.chtimes(p.cred, p.abs(name), at)
		if errors.Is(err, syscall.ENOENT) && !f.has('c') {
			var file fileStream
			if file, err = p.create(name, 0); err == nil {
				file.close()
				if f.has('d') || f.has('r') {
					err = p.m.fs.chtimes(p.cred, p.abs(name), at)
				}
			}
		}
		if err != nil && !(errors.Is(err, syscall.ENOENT) && f.has('c')) {
			status = p.fail("%s: %s", name, errText(err))
		}
	}
	return status
}

func rm(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "rRfiv", map[string]byte{"recursive": 'r', "force": 'f'})
	if !ok {
		return 1
	}
	if len(names) == 0 && !f.has('f') {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names {
		if base := path.Base(path.Clean(name)); base == "." || base == ".." || p.clean(name) == "/" {
			status = p.fail("can't remove '%s': refusing to remove a directory that is in use", name)
			continue
		}
		info, err := p.m.fs.stat(p.cred, p.abs(name), false)
		switch {
		case err == nil && info.IsDir() && !f.has('r') && !f.has('R'):
			err = syscall.EISDIR
		case err == nil && info.IsDir():
			err = p.m.fs.removeAll(p.cred, p.abs(name), func() { p.step(4) })
		case err == nil:
			err = p.m.fs.remove(p.cred, p.abs(name))
		}
		if err != nil && !(errors.Is(err, syscall.ENOENT) && f.has('f')) {
			status = p.fail("can't remove '%s': %s", name, errText(err))
		}
	}
	return status
}

func mkdir(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "pm:v", map[string]byte{"parents": 'p', "mode": 'm'})
	if !ok {
		return 1
	}
	if len(names) == 0 {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names {
		p.step(4)
		var err error
		if f.has('p') {
			err = p.m.fs.mkdirAll(p.cred, p.clean(name), 0o777)
		} else {
			err = p.m.fs.mkdir(p.cred, p.abs(name), 0o777)
		}
		if err == nil && f.has('m') {
			var mode fs.FileMode
			if mode, err = parseMode(f['m'], 0o777); err == nil {
				err = p.m.fs.chmod(p.cred, p.abs(name), mode)
			}
		}
		if err != nil {
			status = p.fail("can't create directory '%s': %s", name, errText(err))
		}
	}
	return status
}

func rmdir(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "p", map[string]byte{"parents": 'p'})
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		for {
			info, err := p.m.fs.stat(p.cred, p.abs(name), false)
			if err == nil && !info.IsDir() {
				err = syscall.ENOTDIR
			}
			if err == nil {
				err = p.m.fs.remove(p.cred, p.abs(name))
			}
			if err != nil {
				status = p.fail("'%s': %s", name, errText(err))
				break
			}
			name = path.Dir(name)
			if !f.has('p') || name == "." || name == "/" {
				break
			}
		}
	}
	return status
}

// into returns where a file goes that is copied, moved or linked to a target,
// which may be a directory.
func (p *proc) into(source, target string, asFile bool) string {
	if info, err := p.m.fs.stat(p.cred, p.abs(target), true); err == nil && info.IsDir() && !asFile {
		return strings.TrimSuffix(target, "/") + "/" + path.Base(path.Clean(source))
	}
	return target
}

func cp(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "rRadpfiLPTvnut:", map[string]byte{"recursive": 'r', "archive": 'a', "force": 'f', "preserve": 'p', "no-clobber": 'n', "target-directory": 't'})
	if !ok {
		return 1
	}
	if f.has('t') {
		names = append(names, f['t'])
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	target := names[len(names)-1]
	c := copier{p: p, f: f, recursive: f.has('r') || f.has('R') || f.has('a'), links: f.has('a') || f.has('d') || f.has('P') || (f.has('r') || f.has('R')) && !f.has('L'), keep: f.has('a') || f.has('p')}
	if info, err := p.m.fs.stat(p.cred, p.abs(target), true); len(names) > 2 && (err != nil || !info.IsDir()) {
		return p.fail("target '%s' is not a directory", target)
	}
	status := 0
	for _, name := range names[:len(names)-1] {
		to := p.into(name, target, f.has('T'))
		if strings.HasPrefix(p.clean(to)+"/", p.clean(name)+"/") && c.recursive {
			status = p.fail("can't copy '%s' into itself", name)
			continue
		}
		if err := c.copy(name, to, 0, f.has('L') || !c.links); err != nil {
			status = p.fail("%v", err)
		}
	}
	return status
}

// copier is a run of cp.
type copier struct {
	p                      *proc
	f                      flags
	recursive, links, keep bool
}

// maxTree bounds the depth of trees that programs descend into.
const maxTree = 100

func (c *copier) copy(from, to string, depth int, follow bool) error {
	p := c.p
	p.step(4)
	if depth > maxTree {
		return fmt.Errorf("%s: nested too deeply", from)
	}
	info, err := p.m.fs.stat(p.cred, p.abs(from), follow)
	if err != nil {
		return fmt.Errorf("can't stat '%s': %s", from, errText(err))
	}
	if _, err := p.m.fs.stat(p.cred, p.abs(to), false); err == nil && c.f.has('n') {
		return nil
	}
	switch {
	case info.IsDir() && !c.recursive:
		return fmt.Errorf("omitting directory '%s'", from)
	case info.IsDir():
		err = c.copyDir(from, to, info, depth)
	case info.mode&fs.ModeSymlink != 0:
		_ = p.m.fs.remove(p.cred, p.abs(to))
		err = p.m.fs.symlink(p.cred, info.target, p.abs(to))
	default:
		err = p.copyFile(from, to, info.mode)
	}
	if err != nil {
		return err
	}
	if c.keep && info.mode&fs.ModeSymlink == 0 {
		_ = p.m.fs.chown(p.cred, p.abs(to), info.uid, info.gid)
		_ = p.m.fs.chtimes(p.cred, p.abs(to), info.modTime)
	}
	return nil
}

func (c *copier) copyDir(from, to string, info fileInfo, depth int) error {
	p := c.p
	if err := p.m.fs.mkdir(p.cred, p.abs(to), info.mode|0o700); err != nil && !errors.Is(err, syscall.EEXIST) {
		return fmt.Errorf("can't create directory '%s': %s", to, errText(err))
	}
	entries, err := p.m.fs.readDir(p.cred, p.abs(from))
	if err != nil {
		return fmt.Errorf("can't open '%s': %s", from, errText(err))
	}
	for _, e := range entries {
		if err := c.copy(from+"/"+e.name, to+"/"+e.name, depth+1, !c.links); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies the content and the mode of a file.
func (p *proc) copyFile(from, to string, mode fs.FileMode) error {
	in, err := p.open(from, syscall.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("can't open '%s': %s", from, errText(err))
	}
	defer in.release(p.m)
	a, errA := p.m.fs.stat(p.cred, p.abs(from), true)
	b, errB := p.m.fs.stat(p.cred, p.abs(to), true)
	if errA == nil && errB == nil && a.node == b.node {
		return fmt.Errorf("'%s' and '%s' are the same file", from, to)
	}
	out, err := p.open(to, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, mode&fs.ModePerm)
	if err != nil {
		return fmt.Errorf("can't create '%s': %s", to, errText(err))
	}
	defer out.release(p.m)
	if err := p.copy(fileStream{p, out}, fileStream{p, in}); err != nil {
		return fmt.Errorf("'%s': %w", to, err)
	}
	return nil
}

func mv(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "finTvt:", map[string]byte{"force": 'f', "no-clobber": 'n'})
	if !ok {
		return 1
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	target := names[len(names)-1]
	if info, err := p.m.fs.stat(p.cred, p.abs(target), true); len(names) > 2 && (err != nil || !info.IsDir()) {
		return p.fail("target '%s' is not a directory", target)
	}
	status := 0
	for _, name := range names[:len(names)-1] {
		to := p.into(name, target, f.has('T'))
		if _, err := p.m.fs.stat(p.cred, p.abs(to), false); err == nil && f.has('n') {
			continue
		}
		err := p.m.fs.rename(p.cred, p.abs(name), p.abs(to))
		if errors.Is(err, syscall.EXDEV) {
			c := copier{p: p, f: flags{}, recursive: true, links: true, keep: true}
			if err := c.copy(name, to, 0, false); err != nil {
				status = p.fail("%v", err)
				continue
			}
			err = p.m.fs.removeAll(p.cred, p.abs(name), func() { p.step(4) })
		}
		if err != nil {
			status = p.fail("can't rename '%s': %s", name, errText(err))
		}
	}
	return status
}

func ln(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "sfnvT", map[string]byte{"symbolic": 's', "force": 'f'})
	if !ok {
		return 1
	}
	if len(names) == 1 {
		names = append(names, ".")
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names[:len(names)-1] {
		to := names[len(names)-1]
		if info, err := p.m.fs.stat(p.cred, p.abs(to), false); !(f.has('n') && err == nil && info.mode&fs.ModeSymlink != 0) {
			to = p.into(name, to, f.has('T'))
		}
		if f.has('f') {
			if info, err := p.m.fs.stat(p.cred, p.abs(to), false); err == nil && !info.IsDir() {
				_ = p.m.fs.remove(p.cred, p.abs(to))
			}
		}
		var err error
		if f.has('s') {
			err = p.m.fs.symlink(p.cred, name, p.abs(to))
		} else {
			err = p.m.fs.link(p.cred, p.abs(name), p.abs(to))
		}
		if err != nil {
			status = p.fail("%s: %s", to, errText(err))
		}
	}
	return status
}

func readlink(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "fnemsz", nil)
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		text, err := "", error(nil)
		if f.has('f') || args[0] == "realpath" || path.Base(args[0]) == "realpath" {
			var at place
			at, err = p.m.fs.walk(p.cred, p.abs(name), true, false)
			if err == nil && at.node == nil && args[0] != "readlink" {
				err = syscall.ENOENT
			}
			text = at.path
		} else {
			text, err = p.m.fs.readlink(p.cred, p.abs(name))
		}
		if err != nil {
			status = 1
			if args[0] != "readlink" {
				p.fail("%s: %s", name, errText(err))
			}
			continue
		}
		if f.has('n') {
			p.print(text)
		} else {
			p.print(text + "\n")
		}
	}
	return status
}

// parseMode understands octal and symbolic modes.
func parseMode(s string, old fs.FileMode) (fs.FileMode, error) {
	if n, err := strconv.ParseUint(s, 8, 12); err == nil {
		return fileMode(n), nil
	}
	bits := unixMode(old)
	for clause := range strings.SplitSeq(s, ",") {
		i := 0
		who := uint32(0)
		for i < len(clause) && strings.IndexByte("ugoa", clause[i]) >= 0 {
			who |= map[byte]uint32{'u': 0o4700, 'g': 0o2070, 'o': 0o1007, 'a': 0o7777}[clause[i]]
			i++
		}
		if who == 0 {
			who = 0o7777
		}
		if i == len(clause) || strings.IndexByte("+-=", clause[i]) < 0 {
			return 0, fmt.Errorf("invalid mode '%s'", s)
		}
		op, perm := clause[i], uint32(0)
		for _, c := range clause[i+1:] {
			switch c {
			case 'r':
				perm |= 0o444
			case 'w':
				perm |= 0o222
			case 'x':
				perm |= 0o111
			case 'X':
				if old.IsDir() || bits&0o111 != 0 {
					perm |= 0o111
				}
			case 's':
				perm |= 0o6000
			case 't':
				perm |= 0o1000
			default:
				return 0, fmt.Errorf("invalid mode '%s'", s)
			}
		}
		switch op {
		case '+':
			bits |= perm & who
		case '-':
			bits &^= perm & who
		default:
			bits = bits&^(who&0o777) | perm&who
		}
	}
	return fileMode(uint64(bits)), nil
}

// recursively calls do for a file and, if asked, for all below it.
func (p *proc) recursively(name string, recursive bool, depth int, do func(name string, info fileInfo) error) error {
	p.step(4)
	info, err := p.m.fs.stat(p.cred, p.abs(name), depth == 0)
	if err == nil {
		err = do(name, info)
	}
	if err != nil {
		return fmt.Errorf("%s: %s", name, errText(err))
	}
	if !recursive || !info.IsDir() || depth > maxTree {
		return nil
	}
	entries, err := p.m.fs.readDir(p.cred, p.abs(name))
	if err != nil {
		return fmt.Errorf("%s: %s", name, errText(err))
	}
	for _, e := range entries {
		if err := p.recursively(strings.TrimSuffix(name, "/")+"/"+e.name, true, depth+1, do); err != nil {
			return err
		}
	}
	return nil
}

// filesBelow lists the files in directories, for grep -r.
func (p *proc) filesBelow(names []string) (files []string) {
	if len(names) == 0 {
		names = []string{"."}
	}
	for _, name := range names {
		if err := p.recursively(name, true, 0, func(name string, info fileInfo) error {
			if info.mode.IsRegular() {
				files = append(files, name)
			}
			return nil
		}); err != nil {
			p.fail("%v", err)
		}
	}
	return files
}

func chmod(p *proc, args []string) int {
	recursive := false
	var names []string
	for _, arg := range args[1:] {
		switch arg {
		case "-R", "--recursive":
			recursive = true
		case "-v", "-f", "-c", "--":
		default:
			names = append(names, arg)
		}
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names[1:] {
		if err := p.recursively(name, recursive, 0, func(name string, info fileInfo) error {
			if info.mode&fs.ModeSymlink != 0 {
				return nil
			}
			mode, err := parseMode(names[0], info.mode)
			if err != nil {
				return err
			}
			return p.m.fs.chmod(p.cred, p.abs(name), mode)
		}); err != nil {
			status = p.fail("%v", err)
		}
	}
	return status
}

func chown(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "Rhvcf", map[string]byte{"recursive": 'R'})
	if !ok {
		return 1
	}
	if len(names) < 2 {
		return p.fail("missing operand")
	}
	owner, groupText, hasGroup := strings.Cut(strings.Replace(names[0], ".", ":", 1), ":")
	if path.Base(args[0]) == "chgrp" {
		owner, groupText, hasGroup = "", names[0], true
	}
	uid, gid := -1, -1
	if owner != "" {
		u, known := p.m.userByName(owner)
		uid = u.uid
		if !known {
			n, err := strconv.Atoi(owner)
			if err != nil || n < 0 {
				return p.fail("unknown user %s", owner)
			}
			uid = n
		}
	}
	if hasGroup && groupText != "" {
		n, known := p.m.groupByName(groupText)
		if !known {
			var err error
			if n, err = strconv.Atoi(groupText); err != nil || n < 0 {
				return p.fail("unknown group %s", groupText)
			}
		}
		gid = n
	}
	status := 0
	for _, name := range names[1:] {
		if err := p.recursively(name, f.has('R'), 0, func(name string, info fileInfo) error {
			if info.mode&fs.ModeSymlink != 0 {
				return nil
			}
			return p.m.fs.chown(p.cred, p.abs(name), uid, gid)
		}); err != nil {
			status = p.fail("%v", err)
		}
	}
	return status
}

func stat(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "c:Lft", map[string]byte{"format": 'c', "dereference": 'L'})
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		info, err := p.m.fs.stat(p.cred, p.abs(name), f.has('L'))
		if err != nil {
			status = p.fail("can't stat '%s': %s", name, errText(err))
			continue
		}
		user, group := p.owner(info)
		kind := "regular file"
		switch {
		case info.IsDir():
			kind = "directory"
		case info.mode&fs.ModeSymlink != 0:
			kind = "symbolic link"
		case info.mode&fs.ModeDevice != 0:
			kind = "character special file"
		case info.size == 0:
			kind = "regular empty file"
		}
		mtime := info.modTime.UTC().Format("2006-01-02 15:04:05.000000000 -0700")
		quoted := "'" + name + "'"
		if info.target != "" && info.mode&fs.ModeSymlink != 0 {
			quoted += " -> '" + info.target + "'"
		}
		if format, ok := f['c']; ok {
			p.print(strings.NewReplacer("%a", strconv.FormatUint(uint64(unixMode(info.mode)), 8), "%A", modeString(info.mode), "%s", strconv.FormatInt(info.size, 10),
				"%n", name, "%N", quoted, "%u", strconv.Itoa(info.uid), "%g", strconv.Itoa(info.gid), "%U", user, "%G", group, "%F", kind, "%h", strconv.Itoa(info.links),
				"%y", mtime, "%Y", strconv.FormatInt(info.modTime.Unix(), 10), "%z", mtime, "%Z", strconv.FormatInt(info.modTime.Unix(), 10), "%%", "%").Replace(format) + "\n")
			continue
		}
		p.printf("  File: %s\n  Size: %-10d\tBlocks: %-10d IO Block: 4096   %s\nAccess: (%04o/%s)  Uid: (%5d/%8s)   Gid: (%5d/%8s)\nModify: %s\n",
			name, info.size, (info.size+511)/512, kind, unixMode(info.mode), modeString(info.mode), info.uid, user, info.gid, group, mtime)
	}
	return status
}

func basename(p *proc, args []string) int {
	if len(args) < 2 {
		return p.fail("missing operand")
	}
	name := path.Base(args[1])
	if len(args) > 2 && name != args[2] {
		name = strings.TrimSuffix(name, args[2])
	}
	p.print(name + "\n")
	return 0
}

func dirname(p *proc, args []string) int {
	if len(args) < 2 {
		return p.fail("missing operand")
	}
	for _, name := range args[1:] {
		p.print(path.Dir(strings.TrimRight(name, "/")+map[bool]string{true: "/", false: ""}[strings.Trim(name, "/") == ""]) + "\n")
	}
	return 0
}

func mktemp(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "dp:tqu", nil)
	if !ok {
		return 1
	}
	template := "tmp.XXXXXX"
	if len(names) > 0 {
		template = names[0]
	}
	if len(names) == 0 || f.has('p') || f.has('t') {
		dir := f['p']
		if dir == "" {
			dir = p.getenv("TMPDIR")
		}
		if dir == "" {
			dir = "/tmp"
		}
		template = dir + "/" + template
	}
	trimmed := strings.TrimRight(template, "X")
	if len(template)-len(trimmed) < 3 {
		return p.fail("%s: too few X's in template", template)
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for range 100 {
		name := []byte(trimmed)
		for len(name) < len(template) {
			name = append(name, letters[rand.IntN(len(letters))])
		}
		mode := fs.FileMode(0o600)
		if f.has('d') {
			mode = fs.ModeDir | 0o700
		}
		_, err := p.m.fs.create(p.cred, p.abs(string(name)), mode, "")
		if errors.Is(err, syscall.EEXIST) {
			continue
		}
		if err != nil {
			return p.fail("%s: %s", template, errText(err))
		}
		p.print(string(name) + "\n")
		return 0
	}
	return p.fail("%s: %s", template, errText(syscall.EEXIST))
}

func truncate(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "s:c", map[string]byte{"size": 's'})
	if !ok {
		return 1
	}
	n, err := size(f['s'])
	if err != nil || n < 0 {
		return p.fail("invalid size '%s'", f['s'])
	}
	status := 0
	for _, name := range names {
		h, err := p.m.fs.open(p.cred, p.abs(name), syscall.O_WRONLY|syscall.O_CREAT, 0o666&^p.cred.umask)
		if err == nil {
			h.dir.mu.Lock()
			err = h.dir.resize(h.node, n)
			h.dir.mu.Unlock()
			h.close()
		}
		if err != nil {
			status = p.fail("%s: %s", name, errText(err))
		}
	}
	return status
}

func du(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "shkacmd:", map[string]byte{"summarize": 's', "human-readable": 'h'})
	if !ok {
		return 1
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	status := 0
	for _, name := range names {
		total := int64(0)
		if err := p.recursively(name, true, 0, func(_ string, info fileInfo) error {
			total += (info.size + 4095) / 4096 * 4
			return nil
		}); err != nil {
			status = p.fail("%v", err)
			continue
		}
		text := strconv.FormatInt(total, 10)
		if f.has('h') {
			text = humanSize(total * 1024)
		}
		p.printf("%s\t%s\n", text, name)
	}
	return status
}

func df(p *proc, args []string) int {
	f, _, ok := p.parseFlags(args, "hkTPmi", map[string]byte{"human-readable": 'h'})
	if !ok {
		return 1
	}
	p.printf("%-20s %10s %9s %9s %4s %s\n", "Filesystem", "1K-blocks", "Used", "Available", "Use%", "Mounted on")
	show := func(d *dirState, at string) {
		d.mu.RLock()
		limit, used := d.limit, d.used
		d.mu.RUnlock()
		if limit == 0 {
			limit = maxStored
		}
		text := func(n int64) string {
			if f.has('h') {
				return humanSize(n)
			}
			return strconv.FormatInt(n/1024, 10)
		}
		p.printf("%-20s %10s %9s %9s %3d%% %s\n", "simulated", text(limit), text(used), text(limit-used), used*100/limit, at)
	}
	show(p.m.fs.root, "/")
	p.m.fs.mu.RLock()
	mounts := p.m.fs.mounts
	p.m.fs.mu.RUnlock()
	var paths []string
	for at := range mounts {
		paths = append(paths, at)
	}
	slices.Sort(paths)
	for _, at := range paths {
		show(mounts[at].dir, at)
	}
	return 0
}

func cmpFiles(p *proc, args []string) int {
	f, names, ok := p.parseFlags(args, "sl", nil)
	if !ok {
		return 2
	}
	if len(names) < 2 {
		return p.fail("missing operand") + 1
	}
	var data [2][]byte
	for i, name := range names[:2] {
		if err := p.withInput(name, func(r io.Reader) error {
			b, release, err := p.readAll(r)
			defer release()
			data[i] = b
			return err
		}); err != nil {
			return p.fail("%s: %s", name, errText(err)) + 1
		}
	}
	for i := range min(len(data[0]), len(data[1])) {
		if data[0][i] != data[1][i] {
			if !f.has('s') {
				p.printf("%s %s differ: char %d\n", names[0], names[1], i+1)
			}
			return 1
		}
	}
	if len(data[0]) != len(data[1]) {
		return 1
	}
	return 0
}

func dd(p *proc, args []string) int {
	values := map[string]string{}
	for _, arg := range args[1:] {
		k, v, _ := strings.Cut(arg, "=")
		values[k] = v
	}
	bs, count, skip, seek := int64(512), int64(-1), int64(0), int64(0)
	for name, n := range map[string]*int64{"bs": &bs, "count": &count, "skip": &skip, "seek": &seek} {
		if v := values[name]; v != "" {
			var err error
			if *n, err = size(v); err != nil || *n < 0 {
				return p.fail("%s: invalid number '%s'", name, v)
			}
		}
	}
	if bs == 0 || count > (1<<60)/bs || skip > (1<<60)/bs || seek > (1<<60)/bs {
		return p.fail("number out of range")
	}
	in, out := p.stdin(), p.stdout()
	if name := values["if"]; name != "" {
		o, err := p.open(name, syscall.O_RDONLY, 0)
		if err != nil {
			return p.fail("can't open '%s': %s", name, errText(err))
		}
		defer o.release(p.m)
		in = fileStream{p, o}
	}
	if name := values["of"]; name != "" {
		mode := syscall.O_TRUNC
		if seek > 0 || strings.Contains(values["conv"], "notrunc") {
			mode = 0
		}
		file, err := p.create(name, mode)
		if err != nil {
			return p.fail("can't open '%s': %s", name, errText(err))
		}
		defer file.close()
		if h, ok := file.o.file.(*fileHandle); ok {
			h.off = seek * bs
		}
		out = file
	}
	if err := p.copy(io.Discard, io.LimitReader(in, skip*bs)); err != nil {
		return p.fail("%v", err)
	}
	if count >= 0 {
		in = io.LimitReader(in, count*bs)
	}
	start := time.Now()
	counted := &countingWriter{w: out}
	if err := p.copy(counted, in); err != nil {
		return p.fail("%v", err)
	}
	if values["status"] != "none" {
		full, part := counted.n/bs, int64(0)
		if counted.n%bs != 0 {
			part = 1
		}
		p.errorf("%d+%d records in\n%d+%d records out", full, part, full, part)
		if values["status"] != "noxfer" {
			p.errorf("%d bytes copied, %.6f seconds", counted.n, time.Since(start).Seconds())
		}
	}
	return 0
}

type countingWriter struct {
	w io.Writer
	n int64
}

// Write implements [io.Writer].
func (c *countingWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
