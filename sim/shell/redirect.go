package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/syntax"
)

// redirected runs code with redirections.
func (sh *shell) redirected(redirs []*syntax.Redirect, code func() flow) flow {
	if len(redirs) == 0 {
		return code()
	}
	p := sh.p
	saved := p.fds.dup()
	sh.keepRedirs = false
	defer func() {
		if sh.keepRedirs { // exec without a command
			sh.keepRedirs = false
			saved.closeAll(p.m)
			return
		}
		p.fds.closeAll(p.m)
		p.fds = saved
	}()
	for _, r := range redirs {
		release, err := sh.redirect(r)
		if release != nil {
			defer release()
		}
		if err != nil {
			sh.errorf("%v", err)
			sh.status = 1
			return next
		}
	}
	return code()
}

// redirect makes one redirection. The function, if any, frees its memory.
func (sh *shell) redirect(r *syntax.Redirect) (release func(), err error) {
	fd := 1
	switch r.Op {
	case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		fd = 0
	}
	if r.N != nil {
		n, err := strconv.Atoi(r.N.Value)
		if err != nil || n < 0 || n >= len(sh.p.fds) {
			return nil, fmt.Errorf("%s: bad file descriptor: the simulation has 0 to %d", r.N.Value, len(sh.p.fds)-1)
		}
		fd = n
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return sh.hereDocument(r, fd)
	case syntax.DplIn, syntax.DplOut:
		return nil, sh.duplicate(r, fd)
	}
	name := sh.text(r.Word)
	flags := syscall.O_WRONLY | syscall.O_CREAT | syscall.O_TRUNC
	switch r.Op {
	case syntax.RdrIn:
		flags = syscall.O_RDONLY
	case syntax.RdrInOut:
		flags = syscall.O_RDWR | syscall.O_CREAT
	case syntax.AppOut, syntax.AppAll, syntax.AppClob, syntax.AppAllClob:
		flags = syscall.O_WRONLY | syscall.O_CREAT | syscall.O_APPEND
	case syntax.RdrOut:
		if info, err := sh.p.m.fs.stat(sh.p.cred, sh.p.abs(name), true); sh.opt.noclobber && err == nil && info.mode.IsRegular() {
			return nil, fmt.Errorf("can't create %s: File exists", name)
		}
	}
	o, err := sh.p.open(name, flags, 0o666)
	if err != nil {
		verb := "create"
		if flags == syscall.O_RDONLY {
			verb = "open"
			if errors.Is(err, syscall.ENOENT) {
				return nil, fmt.Errorf("can't open %s: no such file", name)
			}
		}
		return nil, fmt.Errorf("can't %s %s: %s", verb, name, errText(err))
	}
	sh.p.fds.set(sh.p.m, fd, o)
	if r.Op == syntax.RdrAll || r.Op == syntax.AppAll || r.Op == syntax.RdrAllClob || r.Op == syntax.AppAllClob {
		sh.p.fds.set(sh.p.m, 2, o.dup())
	}
	return nil, nil
}

// duplicate makes N>&M, N<&M and N>&-.
func (sh *shell) duplicate(r *syntax.Redirect, fd int) error {
	arg := sh.text(r.Word)
	if arg == "-" {
		sh.p.fds.set(sh.p.m, fd, nil)
		return nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil && r.Op == syntax.DplOut && r.N == nil { // >&file
		o, err := sh.p.open(arg, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o666)
		if err != nil {
			return fmt.Errorf("can't create %s: %s", arg, errText(err))
		}
		sh.p.fds.set(sh.p.m, 1, o)
		sh.p.fds.set(sh.p.m, 2, o.dup())
		return nil
	}
	if err != nil || n < 0 || n >= len(sh.p.fds) || sh.p.fds[n] == nil {
		return fmt.Errorf("%s: bad file descriptor", arg)
	}
	sh.p.fds.set(sh.p.m, fd, sh.p.fds[n].dup())
	return nil
}

func (sh *shell) hereDocument(r *syntax.Redirect, fd int) (release func(), err error) {
	text := ""
	if r.Op == syntax.WordHdoc {
		text = sh.text(r.Word) + "\n"
	} else if r.Hdoc != nil {
		text = sh.hereText(r)
	}
	if err := sh.p.m.mayOpen(1); err != nil {
		return nil, errors.New(errText(err))
	}
	sh.p.hold(len(text))
	sh.p.fds.set(sh.p.m, fd, sh.p.m.newFile(&textFile{data: []byte(text)}))
	return func() { sh.p.hold(-len(text)) }, nil
}

// hereText returns the body of a here-document.
func (sh *shell) hereText(r *syntax.Redirect) string {
	if quotedDelimiter(r.Word) {
		text := r.Hdoc.Lit()
		if r.Op == syntax.DashHdoc {
			text = withoutTabs(text)
		}
		return text
	}
	doc := r.Hdoc
	if r.Op == syntax.DashHdoc {
		doc = &syntax.Word{}
		lineStart := true
		for _, part := range r.Hdoc.Parts {
			lit, ok := part.(*syntax.Lit)
			if !ok {
				doc.Parts = append(doc.Parts, part)
				lineStart = false
				continue
			}
			text := lit.Value
			if lineStart {
				text = strings.TrimLeft(text, "\t")
			}
			doc.Parts = append(doc.Parts, &syntax.Lit{Value: tabsAfterNewline(text)})
			lineStart = strings.HasSuffix(lit.Value, "\n")
		}
	}
	text, _ := sh.textAndPattern(doc, hereDoc)
	return text
}

func withoutTabs(s string) string { return tabsAfterNewline(strings.TrimLeft(s, "\t")) }

func tabsAfterNewline(s string) string {
	lines := strings.Split(s, "\n")
	for i := 1; i < len(lines); i++ {
		lines[i] = strings.TrimLeft(lines[i], "\t")
	}
	return strings.Join(lines, "\n")
}

// quotedDelimiter reports whether the body of a here-document is literal.
func quotedDelimiter(word *syntax.Word) bool {
	for _, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			if strings.Contains(part.Value, "\\") {
				return true
			}
		}
	}
	return false
}

// errText describes an error as programs of Linux do, whatever system this
// runs on.
func errText(err error) string {
	errno, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return err.Error()
	}
	if text, ok := errTexts[errno]; ok {
		return text
	}
	return errno.Error()
}

var errTexts = map[syscall.Errno]string{
	syscall.ENOENT: "No such file or directory", syscall.EACCES: "Permission denied", syscall.EPERM: "Operation not permitted",
	syscall.EEXIST: "File exists", syscall.ENOTDIR: "Not a directory", syscall.EISDIR: "Is a directory", syscall.ENOTEMPTY: "Directory not empty",
	syscall.EROFS: "Read-only file system", syscall.ENOSPC: "No space left on device", syscall.ELOOP: "Symbolic link loop",
	syscall.ENAMETOOLONG: "File name too long", syscall.EINVAL: "Invalid argument", syscall.EBUSY: "Resource busy", syscall.EXDEV: "Invalid cross-device link",
	syscall.EMFILE: "Too many open files", syscall.EBADF: "Bad file descriptor", syscall.EFBIG: "File too large", syscall.ENXIO: "No such device or address",
	syscall.EAGAIN: "Resource temporarily unavailable", syscall.ESRCH: "No such process", syscall.EPIPE: "Broken pipe",
	syscall.ENOMEM: "Out of memory",
}
