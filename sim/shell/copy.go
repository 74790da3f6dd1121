package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// into returns where a file goes that is copied, moved or linked to a target,
// which may be a directory. The content of dir/. goes into the target itself.
func (p *proc) into(source, target string, asFile bool) string {
	if info, err := p.m.fs.stat(p.cred, p.abs(target), true); err != nil || !info.IsDir() || asFile || isDots(path.Base(source)) {
		return target
	}
	return strings.TrimSuffix(target, "/") + "/" + path.Base(source)
}

// namesAndTarget returns what cp and mv take, and where they put it. It ends the program if that
// cannot be.
func (p *proc) namesAndTarget(f flags, operands []string) (names []string, target string) {
	if f.has('t') {
		operands = append(operands, f['t'])
	}
	if len(operands) < 2 {
		p.exitUsage("missing operand")
	}
	names, target = operands[:len(operands)-1], operands[len(operands)-1]
	if info, err := p.m.fs.stat(p.cred, p.abs(target), true); len(names) > 1 && (err != nil || !info.IsDir()) {
		p.exitUsage("target '%s' is not a directory", target)
	}
	return names, target
}

func cp(p *proc, args []string) int {
	f, names := p.parseFlags(args, "rRadpfLPTvnut:", map[string]byte{"verbose": 'v', "update": 'u', "recursive": 'r', "archive": 'a', "force": 'f', "preserve": 'p', "no-clobber": 'n', "target-directory": 't'})
	names, target := p.namesAndTarget(f, names)
	c := copier{p: p, f: f, recursive: f.has('r') || f.has('R') || f.has('a'), links: f.has('a') || f.has('d') || f.has('P') || (f.has('r') || f.has('R')) && !f.has('L'), keep: f.has('a') || f.has('p')}
	status := 0
	for _, name := range names {
		to := p.into(name, target, f.has('T'))
		if strings.HasPrefix(p.clean(to)+"/", strings.TrimSuffix(p.clean(name), "/")+"/") && c.recursive {
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
	if old, err := p.m.fs.stat(p.cred, p.abs(to), false); err == nil && !info.IsDir() {
		if c.f.has('n') || c.f.has('u') && !info.modTime.After(old.modTime) {
			return nil
		}
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
	if c.f.has('v') && !info.IsDir() {
		p.printf("'%s' -> '%s'\n", from, to)
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
	if c.f.has('v') {
		p.printf("'%s' -> '%s'\n", from, to)
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
	f, names := p.parseFlags(args, "fnTvt:", map[string]byte{"verbose": 'v', "target-directory": 't', "force": 'f', "no-clobber": 'n'})
	names, target := p.namesAndTarget(f, names)
	status := 0
	for _, name := range names {
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
		} else if f.has('v') {
			p.printf("'%s' -> '%s'\n", name, to)
		}
	}
	return status
}

func ln(p *proc, args []string) int {
	f, names := p.parseFlags(args, "sfnvT", map[string]byte{"symbolic": 's', "force": 'f'})
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
	f, names := p.parseFlags(args, "fn", nil)
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
