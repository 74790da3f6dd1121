package shell

import (
	"compress/gzip"
	"io"
	"path"
	"strings"
	"syscall"
)

// gzipProgram is gzip, gunzip and zcat.
func gzipProgram(p *proc, args []string) int {
	f, names := p.parseFlags(args, "cdfk123456789nqv", map[string]byte{"decompress": 'd', "stdout": 'c', "force": 'f', "keep": 'k'})
	p.hold(gzipCost)
	defer p.hold(-gzipCost)
	program := path.Base(args[0])
	unpack := f.has('d') || program != "gzip"
	if len(names) == 0 || f.has('c') || program == "zcat" {
		return p.eachInput(names, func(_ string, r io.Reader) error { return p.gzip(p.stdout(), r, unpack) })
	}
	status := 0
	for _, name := range names {
		to := name + ".gz"
		if unpack {
			if to = strings.TrimSuffix(name, ".gz"); to == name {
				status = p.fail("%s: unknown suffix", name)
				continue
			}
		}
		err := p.withInput(name, func(r io.Reader) error {
			file, err := p.create(to, syscall.O_TRUNC)
			if err != nil {
				return err
			}
			defer file.close()
			return p.gzip(file, r, unpack)
		})
		if err == nil && !f.has('k') {
			err = p.m.fs.remove(p.cred, p.abs(name))
		}
		if err != nil {
			status = p.fail("%s: %s", name, errText(err))
		}
	}
	return status
}

func (p *proc) gzip(w io.Writer, r io.Reader, unpack bool) error {
	if unpack {
		z, err := gzip.NewReader(r)
		if err != nil {
			return err
		}
		return p.copy(w, z)
	}
	z := gzip.NewWriter(w)
	if err := p.copy(z, r); err != nil {
		return err
	}
	return z.Close()
}
