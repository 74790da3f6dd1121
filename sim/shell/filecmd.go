package shell

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"path"
	"strings"
	"syscall"
	"time"
)

func touch(p *proc, args []string) int {
	f, names := p.parseFlags(args, "cmd:r:t:", map[string]byte{"no-create": 'c', "date": 'd', "reference": 'r'})
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
	if f.has('t') {
		t, err := parseStamp(f['t'])
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
				if f.has('d') || f.has('r') || f.has('t') {
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
	f, names := p.parseFlags(args, "rRfv", map[string]byte{"recursive": 'r', "force": 'f'})
	if len(names) == 0 && !f.has('f') {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names {
		if name != "" && (isDots(path.Base(name)) || p.clean(name) == "/") {
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
	f, names := p.parseFlags(args, "pm:v", map[string]byte{"parents": 'p', "mode": 'm'})
	if len(names) == 0 {
		return p.fail("missing operand")
	}
	status := 0
	for _, name := range names {
		p.step(4)
		var err error
		if f.has('p') && name != "" {
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
	f, names := p.parseFlags(args, "p", map[string]byte{"parents": 'p'})
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

func basename(p *proc, args []string) int {
	_, names := p.parseFlags(args, "", nil)
	if len(names) == 0 {
		return p.fail("missing operand")
	}
	name := names[0]
	if name != "" {
		name = path.Base(name)
	}
	if len(names) > 1 && name != names[1] {
		name = strings.TrimSuffix(name, names[1])
	}
	p.print(name + "\n")
	return 0
}

func dirname(p *proc, args []string) int {
	_, names := p.parseFlags(args, "", nil)
	if len(names) == 0 {
		return p.fail("missing operand")
	}
	for _, name := range names {
		p.print(dirOf(name) + "\n")
	}
	return 0
}

// dirOf is [path.Dir] without its cleaning: a/../b is in a/.., which need not be here.
func dirOf(name string) string {
	trimmed := strings.TrimRight(name, "/")
	dir := strings.TrimRight(trimmed[:strings.LastIndexByte(trimmed, '/')+1], "/")
	switch {
	case dir != "":
		return dir
	case strings.HasPrefix(name, "/"):
		return "/"
	}
	return "."
}

func mktemp(p *proc, args []string) int {
	f, names := p.parseFlags(args, "dp:tuq", nil)
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
		if f.has('u') {
			p.print(string(name) + "\n")
			return 0
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
	f, names := p.parseFlags(args, "s:c", map[string]byte{"size": 's'})
	n, err := parseSize(f['s'])
	if err != nil || n < 0 || strings.HasPrefix(f['s'], "+") {
		return p.fail("invalid size '%s'", f['s'])
	}
	mode := syscall.O_WRONLY | syscall.O_CREAT
	if f.has('c') {
		mode = syscall.O_WRONLY
	}
	status := 0
	for _, name := range names {
		h, err := p.m.fs.open(p.cred, p.abs(name), mode, 0o666&^p.cred.umask)
		if err == nil {
			h.dir.mu.Lock()
			err = h.dir.resize(h.node, n)
			h.dir.mu.Unlock()
			h.close()
		}
		if err != nil && !(f.has('c') && errors.Is(err, syscall.ENOENT)) {
			status = p.fail("%s: %s", name, errText(err))
		}
	}
	return status
}
