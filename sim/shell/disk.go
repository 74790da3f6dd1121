package shell

import (
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func du(p *proc, args []string) int {
	f, names := p.parseFlags(args, "shk", map[string]byte{"summarize": 's', "human-readable": 'h'})
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
	f, names := p.parseFlags(args, "hkP", map[string]byte{"human-readable": 'h'})
	total := "1K-blocks"
	if f.has('h') {
		total = "Size"
	}
	p.printf("%-20s %10s %9s %9s %4s %s\n", "Filesystem", total, "Used", "Available", "Use%", "Mounted on")
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
	mounts := map[string]mount{"/": {dir: p.m.fs.root}}
	p.m.fs.mu.RLock()
	maps.Copy(mounts, p.m.fs.mounts)
	p.m.fs.mu.RUnlock()
	paths := slices.Sorted(maps.Keys(mounts))
	status := 0
	if len(names) > 0 {
		paths, status = p.mountsOf(names, paths)
	}
	for _, at := range paths {
		show(mounts[at].dir, at)
	}
	return status
}

// mountsOf returns for each file which of the mounts it is in.
func (p *proc) mountsOf(names, mounts []string) (paths []string, status int) {
	for _, name := range names {
		at, err := p.m.fs.walk(p.cred, p.abs(name), true, false)
		if err != nil || at.node == nil {
			status = p.fail("%s: can't find mount point", name)
			continue
		}
		for _, mount := range slices.Backward(mounts) { // the longest ones first
			if isBelow(at.path, mount) {
				paths = append(paths, mount)
				break
			}
		}
	}
	return paths, status
}

func cmpFiles(p *proc, args []string) int {
	f, names := p.parseFlags(args, "s", map[string]byte{"quiet": 's', "silent": 's'})
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

// ddOperands are the operands of dd and the values that they may have, all if there are none. How
// data gets to a disk makes no difference in memory.
var ddOperands = map[string]string{
	"if": "", "of": "", "bs": "", "count": "", "skip": "", "seek": "", "status": "none,noxfer,progress",
	"conv": "notrunc,fsync,fdatasync", "oflag": "direct,sync,dsync", "iflag": "direct,sync,dsync,fullblock",
}

func dd(p *proc, args []string) int {
	values := map[string]string{}
	for _, arg := range args[1:] {
		k, v, _ := strings.Cut(arg, "=")
		if allowed, ok := ddOperands[k]; !ok || allowed != "" && !strings.Contains(","+allowed+",", ","+v+",") {
			return p.fail("unrecognized operand '%s'", arg)
		}
		values[k] = v
	}
	bs, count, skip, seek := int64(512), int64(-1), int64(0), int64(0)
	for name, n := range map[string]*int64{"bs": &bs, "count": &count, "skip": &skip, "seek": &seek} {
		if v := values[name]; v != "" {
			var err error
			if *n, err = parseSize(v); err != nil || *n < 0 {
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
