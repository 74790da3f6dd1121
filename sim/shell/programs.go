package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"syscall"
)

var programTable map[string]program

func init() { // not in the declaration: programs run programs
	programTable = map[string]program{
		"sh": runShell, "ash": runShell, "dash": runShell, "bash": runShell,
		"echo": echo, "printf": printf, "test": test, "[": test, "true": exitWith(0), "false": exitWith(1), "pwd": pwd,
		"cat": cat, "head": head, "tail": tail, "grep": grep, "egrep": grep, "fgrep": grep, "wc": wc, "sort": sortLines, "uniq": uniq, "cut": cut,
		"tr": tr, "sed": sed, "awk": awk, "seq": seq, "tee": tee, "xargs": xargs, "tac": tac, "rev": rev, "nl": nl, "yes": yes, "expr": expr, "base64": base64Program,
		"md5sum": checksum, "sha1sum": checksum, "sha256sum": checksum, "sha512sum": checksum, "dd": dd, "cmp": cmpFiles,
		"ls": ls, "touch": touch, "rm": rm, "mkdir": mkdir, "rmdir": rmdir, "cp": cp, "mv": mv, "ln": ln, "readlink": readlink, "realpath": readlink,
		"chmod": chmod, "chown": chown, "chgrp": chown, "stat": stat, "find": find, "basename": basename, "dirname": dirname, "mktemp": mktemp,
		"truncate": truncate, "du": du, "df": df, "tar": tarProgram, "gzip": gzipProgram, "gunzip": gzipProgram, "zcat": gzipProgram, "sync": exitWith(0),
		"env": env, "printenv": printenv, "sleep": sleep, "usleep": sleep, "date": date, "hostname": hostname, "id": id, "whoami": id, "groups": id,
		"uname": uname, "arch": uname, "nproc": nproc, "kill": kill, "ps": ps, "pidof": pgrep, "pgrep": pgrep, "pkill": pgrep, "killall": pgrep,
		"which": which, "timeout": timeout, "nohup": nohup, "uptime": uptime, "tty": tty, "stty": stty, "clear": clearScreen, "getent": getent,
		"wget": fetch, "curl": fetch, "nslookup": nslookup, "nc": netcat, "sysctl": sysctl, "ping": ping, "telnet": noNetwork, "traceroute": noNetwork,
	}
}

func exitWith(n int) program { return func(*proc, []string) int { return n } }

// eachInput calls do for each file that is named, or for the standard input,
// and returns the exit status.
func (p *proc) eachInput(names []string, do func(name string, r io.Reader) error) int {
	if len(names) == 0 {
		names = []string{"-"}
	}
	status := 0
	for _, name := range names {
		if err := p.withInput(name, func(r io.Reader) error { return do(name, r) }); err != nil {
			if errors.Is(err, errStop) {
				break
			}
			status = 1
			if _, isErrno := errors.AsType[syscall.Errno](err); isErrno {
				p.fail("can't open '%s': %s", name, errText(err))
				continue
			}
			p.fail("%s: %s", name, errText(err))
		}
	}
	return status
}

// eachLine calls do for each line, without its newline, of what eachInput reads. The line is valid
// until do returns.
func (p *proc) eachLine(names []string, do func(line []byte)) (status int) {
	return p.eachInput(names, func(_ string, r io.Reader) error {
		return p.lines(r, func(line []byte, _ bool) bool {
			do(line)
			return true
		})
	})
}

// errStop ends eachInput early.
var errStop = errors.New("stop")

func (p *proc) withInput(name string, do func(r io.Reader) error) error {
	if name == "-" {
		return do(p.stdin())
	}
	o, err := p.open(name, syscall.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer o.release(p.m)
	return do(fileStream{p, o})
}

// fileStream reads and writes a file that has no descriptor.
type fileStream struct {
	p *proc
	o *ofile
}

// Read implements [io.Reader].
func (s fileStream) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := s.o.read(s.p, b)
	s.p.step(1 + n/256)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements [io.Writer].
func (s fileStream) Write(b []byte) (int, error) {
	s.p.step(1 + len(b)/256)
	return s.o.write(s.p, b)
}

// create opens a file for writing.
func (p *proc) create(name string, flags int) (fileStream, error) {
	o, err := p.open(name, syscall.O_WRONLY|syscall.O_CREAT|flags, 0o666)
	return fileStream{p, o}, err
}

func (s fileStream) close() { s.o.release(s.p.m) }

// copyStream copies one descriptor to another.
func copyStream(p *proc, to, from int) error { return p.copy(stream{p, to}, stream{p, from}) }

// copy copies until the end, with a buffer that counts as memory.
func (p *proc) copy(w io.Writer, r io.Reader) error {
	const size = 16 << 10
	p.hold(size)
	defer p.hold(-size)
	buf := make([]byte, size)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return fmt.Errorf("write error: %s", errText(werr))
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// readAll reads to the end; what it returns counts as memory until release.
func (p *proc) readAll(r io.Reader) (data []byte, release func(), err error) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		p.hold(n)
		data = append(data, buf[:n]...)
		if err != nil {
			release = func() { p.hold(-len(data)) }
			if err == io.EOF {
				err = nil
			}
			return data, release, err
		}
	}
}

// lines calls do for each line, without its newline, until it returns false.
// The line is valid until do returns.
func (p *proc) lines(r io.Reader, do func(line []byte, newline bool) bool) error {
	return p.records(r, '\n', do)
}

func (p *proc) records(r io.Reader, delim byte, do func(line []byte, newline bool) bool) error {
	const size = 4 << 10
	p.hold(size)
	defer p.hold(-size)
	br := bufio.NewReaderSize(r, size)
	var long []byte
	for {
		part, err := br.ReadSlice(delim)
		if errors.Is(err, bufio.ErrBufferFull) {
			p.hold(len(part))
			long = append(long, part...)
			continue
		}
		if err != nil && err != io.EOF {
			return err
		}
		line := part
		if long != nil {
			line = append(long, part...)
		}
		if len(line) == 0 && err == io.EOF {
			return nil
		}
		newline := line[len(line)-1] == delim
		if newline {
			line = line[:len(line)-1]
		}
		p.step(1 + len(line)/256)
		more := do(line, newline)
		p.hold(-len(long))
		long = nil
		if !more || err == io.EOF {
			return nil
		}
	}
}

// output buffers what a program prints.
func (p *proc) output() *bufio.Writer { return bufio.NewWriterSize(stream{p, 1}, 4<<10) }

// stdout returns the standard output.
func (p *proc) stdout() io.Writer { return stream{p, 1} }
