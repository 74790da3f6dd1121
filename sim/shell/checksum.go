package shell

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"path"
	"strconv"
	"strings"
)

func base64Program(p *proc, args []string) int {
	f, names := p.parseFlags(args, "dDw:", map[string]byte{"decode": 'd', "wrap": 'w'})
	width := 76
	if f.has('w') {
		n, err := strconv.Atoi(f['w'])
		if err != nil || n < 0 {
			return p.fail("invalid number '%s'", f['w'])
		}
		width = n
	}
	return p.eachInput(names, func(_ string, r io.Reader) error {
		if f.has('d') || f.has('D') {
			return p.copy(p.stdout(), base64.NewDecoder(base64.StdEncoding, r))
		}
		wrapped := &wrapper{w: p.output(), width: width}
		encoder := base64.NewEncoder(base64.StdEncoding, wrapped)
		if err := p.copy(encoder, r); err != nil {
			return err
		}
		if err := encoder.Close(); err != nil {
			return err
		}
		return wrapped.finish()
	})
}

// wrapper breaks lines.
type wrapper struct {
	w interface {
		io.Writer
		Flush() error
	}
	width, at int
}

// Write implements [io.Writer].
func (w *wrapper) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		n := len(b)
		if w.width > 0 {
			if w.at == w.width {
				if _, err := w.w.Write([]byte("\n")); err != nil {
					return 0, err
				}
				w.at = 0
			}
			n = min(n, w.width-w.at)
		}
		if _, err := w.w.Write(b[:n]); err != nil {
			return 0, err
		}
		w.at += n
		b = b[n:]
	}
	return written, nil
}

func (w *wrapper) finish() error {
	if w.at > 0 && w.width > 0 {
		if _, err := w.w.Write([]byte("\n")); err != nil {
			return err
		}
	}
	return w.w.Flush()
}

func checksum(p *proc, args []string) int {
	f, names := p.parseFlags(args, "cbtsw", map[string]byte{"check": 'c', "status": 's'})
	newHash := map[string]func() hash.Hash{"md5sum": md5.New, "sha1sum": sha1.New, "sha256sum": sha256.New, "sha512sum": sha512.New}[path.Base(args[0])]
	sum := func(r io.Reader) (string, error) {
		h := newHash()
		err := p.copy(h, r)
		return hex.EncodeToString(h.Sum(nil)), err
	}
	if f.has('c') {
		failed := 0
		status := p.eachLine(names, func(line []byte) {
			want, name, ok := strings.Cut(string(line), " ")
			if !ok {
				return
			}
			name = strings.TrimLeft(name, " *")
			got := ""
			if err := p.withInput(name, func(r io.Reader) (err error) { got, err = sum(r); return err }); err != nil {
				p.fail("can't open '%s': %s", name, errText(err))
			}
			result := "OK"
			if got != want {
				result = "FAILED"
				failed++
			}
			if !f.has('s') {
				p.print(name + ": " + result + "\n")
			}
		})
		if failed > 0 {
			return p.fail("WARNING: %d of the computed checksums did NOT match", failed)
		}
		return status
	}
	return p.eachInput(names, func(name string, r io.Reader) error {
		text, err := sum(r)
		if err == nil {
			p.printf("%s  %s\n", text, name)
		}
		return err
	})
}

func expr(p *proc, args []string) int {
	e := exprParser{p: p, args: args[1:]}
	v := e.or()
	if e.err == "" && (e.pos < len(e.args) || len(e.args) == 0) {
		e.err = "syntax error"
	}
	if e.err != "" {
		p.errorf("expr: %s", e.err)
		return 2
	}
	p.print(v + "\n")
	if v == "" || v == "0" {
		return 1
	}
	return 0
}
