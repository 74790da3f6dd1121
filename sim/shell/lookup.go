package shell

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"syscall"
)

// defaultPath is the PATH of a container that has none.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// program is the code of a program; args[0] is its name.
type program func(p *proc, args []string) int

// findPath returns the path of a program.
func (p *proc) findPath(name, searchPath string) (string, error) {
	p.step(4)
	if strings.Contains(name, "/") {
		info, err := p.m.fs.stat(p.cred, p.abs(name), true)
		if err != nil {
			return "", err
		}
		if info.IsDir() {
			return "", syscall.EACCES
		}
		return name, p.m.fs.access(p.cred, p.abs(name), mayExec)
	}
	if searchPath == "" {
		searchPath = defaultPath
	}
	failure := errNotFound
	if name == "" || len(name) > maxName {
		return "", failure
	}
	for dir := range strings.SplitSeq(searchPath, ":") {
		p.step(1)
		if dir == "" {
			dir = "."
		}
		at := path.Join(dir, name)
		info, err := p.m.fs.stat(p.cred, p.abs(at), true)
		if err != nil || !info.mode.IsRegular() {
			continue
		}
		if err := p.m.fs.access(p.cred, p.abs(at), mayExec); err != nil {
			failure = err
			continue
		}
		return at, nil
	}
	return "", failure
}

// loadProgram returns the code of a program: one of the engine, or a script in the
// file system of the container. The status is that of a shell that fails to
// start it.
func (p *proc) loadProgram(args []string, searchPath string) (run program, status int, err error) {
	at, err := p.findPath(args[0], searchPath)
	if err != nil {
		status = 126
		if errors.Is(err, errNotFound) || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ENOTDIR) {
			status, err = 127, errNotFound
		}
		return nil, status, fmt.Errorf("%s: %s", args[0], lowerFirst(errText(err)))
	}
	info, err := p.m.fs.stat(p.cred, p.abs(at), true)
	if err != nil {
		return nil, 127, fmt.Errorf("%s: %s", args[0], errText(err))
	}
	if info.node.target != "" {
		return programTable[info.node.target], 0, nil
	}
	interpreter, err := p.m.fs.interpreter(p.cred, p.abs(at))
	if err != nil {
		return nil, 126, fmt.Errorf("%s: %s", args[0], errText(err))
	}
	shell, ok := programTable[path.Base(interpreter[0])]
	if !ok {
		return nil, 127, fmt.Errorf("%s: %s: not found", args[0], interpreter[0])
	}
	return func(p *proc, args []string) int {
		defer p.enter()()
		return shell(p, append(append([]string{}, interpreter...), append([]string{at}, args[1:]...)...))
	}, 0, nil
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// interpreter returns the program, and its argument if there is one, that the
// first line of a script names; without such a line it is sh.
func (t *tree) interpreter(c *cred, name string) ([]string, error) {
	h, err := t.open(c, name, syscall.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer h.close()
	buf := make([]byte, 256)
	n, err := h.readSome(buf)
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(buf[:n]), "\n")
	if strings.IndexByte(line, 0) >= 0 {
		return nil, fmt.Errorf("the simulation cannot execute binary files")
	}
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return []string{"/bin/sh"}, nil
	}
	name, arg, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if name == "" {
		return []string{"/bin/sh"}, nil
	}
	if arg = strings.TrimSpace(arg); arg != "" {
		return []string{name, arg}, nil
	}
	return []string{name}, nil
}

// readScript reads a script, which must not be too long.
func (p *proc) readScript(name string) (string, error) {
	info, err := p.m.fs.stat(p.cred, p.abs(name), true)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", syscall.EISDIR
	}
	if info.size > maxScript {
		return "", errTooLong
	}
	o, err := p.open(name, syscall.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer o.release(p.m)
	data, release, err := p.readAll(io.LimitReader(fileStream{p, o}, maxScript+1)) // of /dev/stdin the size is unknown
	release()
	if len(data) > maxScript {
		return "", errTooLong
	}
	return string(data), err
}

func which(p *proc, args []string) int {
	_, names := p.parseFlags(args, "", nil)
	status := 0
	for _, name := range names {
		at, err := p.findPath(name, p.getenv("PATH"))
		if err != nil {
			status = 1
			continue
		}
		p.print(at + "\n")
	}
	return status
}
