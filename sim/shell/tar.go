package shell

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// archiver is a run of tar.
type archiver struct {
	p                       *proc
	mode                    byte
	file, dir               string
	gzip, verbose, toStdout bool
	keepTimes               bool
	strip                   int
	exclude                 []string
	status                  int
}

// tarProgram is tar: enough for kubectl cp and for scripts.
func tarProgram(p *proc, args []string) int {
	t := archiver{p: p, file: "-", dir: p.dir, keepTimes: true}
	rest := args[1:]
	if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		rest = append([]string{"-" + rest[0]}, rest[1:]...)
	}
	var names []string
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		value := func(have string) (string, bool) {
			if have != "" {
				return have, true
			}
			if i++; i < len(rest) {
				return rest[i], true
			}
			t.p.fail("option requires an argument: %s", arg)
			return "", false
		}
		switch {
		case arg == "--":
			names = append(names, rest[i+1:]...)
			i = len(rest)
		case strings.HasPrefix(arg, "--"):
			if !t.long(arg, value) {
				return 1
			}
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			if !t.short(arg[1:], value) {
				return 1
			}
		default:
			names = append(names, arg)
		}
	}
	if err := t.run(names); err != nil {
		return p.fail("%v", err)
	}
	return t.status
}

// long handles a long option.
func (t *archiver) long(arg string, value func(string) (string, bool)) (ok bool) {
	name, v, _ := strings.Cut(arg, "=")
	ok = true
	switch name {
	case "--directory":
		v, ok = value(v)
		t.changeDir(v)
	case "--file":
		t.file, ok = value(v)
	case "--create":
		t.mode = 'c'
	case "--extract":
		t.mode = 'x'
	case "--list":
		t.mode = 't'
	case "--gzip":
		t.gzip = true
	case "--exclude":
		v, ok = value(v)
		t.exclude = append(t.exclude, v)
	case "--strip-components":
		v, ok = value(v)
		_, _ = fmt.Sscan(v, &t.strip)
	case "--no-same-permissions", "--no-same-owner", "--warning", "--touch", "--numeric-owner", "--same-owner", "--overwrite", "--ignore-failed-read":
	default:
		t.p.fail("unrecognized option '%s'", arg)
		return false
	}
	return ok
}

// changeDir handles -C, of which several follow each other.
func (t *archiver) changeDir(dir string) {
	if !strings.HasPrefix(dir, "/") {
		dir = t.dir + "/" + dir
	}
	t.dir = dir
}

// short handles a group of short options.
func (t *archiver) short(group string, value func(string) (string, bool)) bool {
	for j := range len(group) {
		switch c := group[j]; c {
		case 'c', 'x', 't':
			t.mode = c
		case 'z':
			t.gzip = true
		case 'v':
			t.verbose = true
		case 'O':
			t.toStdout = true
		case 'm':
			t.keepTimes = false
		case 'p', 'o':
		case 'f', 'C':
			v, ok := value("")
			if !ok {
				return false
			}
			if c == 'f' {
				t.file = v
			} else {
				t.changeDir(v)
			}
		default:
			t.p.fail("unrecognized option: %c", c)
			return false
		}
	}
	return true
}

// gzipCost is what compression holds in memory.
const gzipCost = 1 << 20

func (t *archiver) run(names []string) error {
	p := t.p
	if t.gzip {
		p.hold(gzipCost)
		defer p.hold(-gzipCost)
	}
	if t.mode == 'c' {
		var out io.Writer = p.stdout()
		if t.file != "-" {
			file, err := p.create(t.file, syscall.O_TRUNC)
			if err != nil {
				return fmt.Errorf("can't open '%s': %s", t.file, errText(err))
			}
			defer file.close()
			out = file
		}
		return t.create(out, names)
	}
	if t.mode == 0 {
		return errors.New("must specify one of -c, -x, -t")
	}
	return p.withInput(t.file, func(r io.Reader) error { return t.extract(r, names) })
}

// printName prints what is added or extracted if that is asked for: to stderr if stdout has an archive or files.
func (t *archiver) printName(name string) {
	switch {
	case !t.verbose:
	case t.mode == 'c' && t.file == "-" || t.toStdout:
		t.p.errorf("%s", name)
	default:
		t.p.print(name + "\n")
	}
}

func (t *archiver) create(out io.Writer, names []string) error {
	if len(names) == 0 {
		return errors.New("empty archive")
	}
	if t.gzip {
		z := gzip.NewWriter(out)
		defer z.Close()
		out = z
	}
	w := tar.NewWriter(out)
	dir := t.p.dir
	t.p.dir = t.p.clean(t.dir)
	defer func() { t.p.dir = dir }()
	for _, name := range names {
		if err := t.add(w, name, 0); err != nil {
			return err
		}
	}
	return w.Close()
}

func (t *archiver) add(w *tar.Writer, name string, depth int) error {
	p := t.p
	p.step(8)
	for _, pattern := range t.exclude {
		if p.match(pattern, name) || p.match(pattern, path.Base(name)) {
			return nil
		}
	}
	info, err := p.m.fs.stat(p.cred, p.abs(name), false)
	if err != nil {
		t.status = p.fail("%s: %s", name, errText(err))
		return nil
	}
	header, err := tar.FileInfoHeader(info, info.target)
	if err != nil {
		t.status = p.fail("%s: %v", name, err)
		return nil
	}
	header.Name = memberName(name)
	header.Uid, header.Gid = info.uid, info.gid
	header.Uname, header.Gname = p.owner(info)
	if info.IsDir() {
		header.Name = strings.TrimSuffix(header.Name, "/") + "/"
	}
	t.printName(header.Name)
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	if info.mode.IsRegular() {
		if err := t.content(w, name, info.size); err != nil {
			return err
		}
	}
	if !info.IsDir() || depth > maxTree {
		return nil
	}
	entries, err := p.m.fs.readDir(p.cred, p.abs(name))
	if err != nil {
		t.status = p.fail("%s: %s", name, errText(err))
		return nil
	}
	for _, e := range entries {
		if err := t.add(w, strings.TrimSuffix(name, "/")+"/"+e.name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// content writes exactly size bytes of a file, which may change meanwhile.
func (t *archiver) content(w io.Writer, name string, size int64) error {
	o, err := t.p.open(name, syscall.O_RDONLY, 0)
	if err != nil {
		t.status = t.p.fail("%s: %s", name, errText(err))
		return t.p.copy(w, io.LimitReader(zeros{}, size))
	}
	defer o.release(t.p.m)
	return t.p.copy(w, io.LimitReader(io.MultiReader(fileStream{t.p, o}, zeros{}), size))
}

type zeros struct{}

// Read implements [io.Reader].
func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func (t *archiver) extract(in io.Reader, names []string) error {
	if t.gzip {
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = z
	}
	dir := t.p.dir
	t.p.dir = t.p.clean(t.dir)
	defer func() { t.p.dir = dir }()
	if info, err := t.p.m.fs.stat(t.p.cred, t.p.dir, true); err != nil || !info.IsDir() {
		return fmt.Errorf("can't change directory to '%s': %s", t.dir, errText(syscall.ENOENT))
	}
	r := tar.NewReader(in)
	for {
		t.p.step(8)
		header, err := r.Next()
		if err == io.EOF {
			// What follows the end of the archive is padding.
			return t.p.copy(io.Discard, in)
		}
		if err != nil {
			return fmt.Errorf("bad archive: %w", err)
		}
		name := path.Clean("/" + header.Name)[1:]
		for range t.strip {
			_, name, _ = strings.Cut(name, "/")
		}
		if !wanted(name, names) || name == "" && t.mode != 't' {
			continue
		}
		if t.mode == 't' {
			t.list(header)
			continue
		}
		t.printName(header.Name)
		if err := t.entry(r, header, name); err != nil {
			t.status = t.p.fail("%s: %s", name, errText(err))
		}
	}
}

func wanted(name string, names []string) bool {
	for _, n := range names {
		n = strings.Trim(path.Clean("/"+n), "/")
		if n == "" || name == n || strings.HasPrefix(name, n+"/") {
			return true
		}
	}
	return len(names) == 0
}

func (t *archiver) list(h *tar.Header) {
	if !t.verbose {
		t.p.print(h.Name + "\n")
		return
	}
	t.p.printf("%s %d/%d %9d %s %s\n", modeString(h.FileInfo().Mode()), h.Uid, h.Gid, h.Size, h.ModTime.UTC().Format("2006-01-02 15:04:05"), h.Name)
}

// entry extracts one entry.
func (t *archiver) entry(r io.Reader, h *tar.Header, name string) error {
	p := t.p
	if t.toStdout {
		if h.Typeflag == tar.TypeReg {
			return p.copy(p.stdout(), r)
		}
		return nil
	}
	at := p.abs(name)
	if parent := path.Dir(at); h.Typeflag != tar.TypeDir {
		if err := p.m.fs.mkdirAll(p.cred, parent, 0o777); err != nil {
			return err
		}
	}
	mode := h.FileInfo().Mode()
	switch h.Typeflag {
	case tar.TypeDir:
		return p.m.fs.mkdirAll(p.cred, at, mode.Perm()|0o700)
	case tar.TypeSymlink:
		_ = p.m.fs.remove(p.cred, at)
		return p.m.fs.symlink(p.cred, h.Linkname, at)
	case tar.TypeLink:
		_ = p.m.fs.remove(p.cred, at)
		return p.m.fs.link(p.cred, p.abs(path.Clean("/" + h.Linkname)[1:]), at)
	case tar.TypeReg:
	default:
		return fmt.Errorf("this kind of entry is not simulated")
	}
	o, err := p.open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, mode.Perm())
	if err != nil {
		return err
	}
	defer o.release(p.m)
	err = p.copy(fileStream{p, o}, r)
	if err == nil {
		err = p.m.fs.chmod(p.cred, at, mode&(fs.ModePerm&^p.cred.umask))
	}
	if err == nil && t.keepTimes {
		err = p.m.fs.chtimes(p.cred, at, h.ModTime)
	}
	return err
}

// memberName returns the name that a file gets in an archive: without a part that leads out
// of the folder in which it is extracted.
func memberName(name string) string {
	inside := "/" + name + "/"
	if i := strings.LastIndex(inside, "/../"); i >= 0 {
		inside = inside[i+len("/.."):]
		name = cmp.Or(strings.Trim(inside, "/"), ".")
	}
	return strings.TrimLeft(name, "/")
}
