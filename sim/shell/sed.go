package shell

import (
	"strings"
	"syscall"
)

func sed(p *proc, args []string) int {
	f, names := p.parseFlags(args, "nEri::e:*f:*u", map[string]byte{"quiet": 'n', "silent": 'n', "regexp-extended": 'E', "expression": 'e', "file": 'f', "in-place": 'i'})
	scripts := f.lines('e')
	for _, name := range f.lines('f') {
		text, err := p.readScript(name)
		if err != nil {
			return p.fail("can't open '%s': %s", name, errText(err))
		}
		scripts = append(scripts, text)
	}
	if len(scripts) == 0 {
		if len(names) == 0 {
			p.errorf("usage: sed [-i] [-n] [-E] [-e CMD]... [FILE]...")
			return 1
		}
		scripts, names = names[:1], names[1:]
	}
	if strings.ContainsAny(f['i'], "*/") { // a pattern of the name of the backup
		return p.fail("unrecognized option: i%s", f['i'])
	}
	parser := sedParser{p: p, src: strings.Join(scripts, "\n"), extended: f.has('E') || f.has('r')}
	if err := parser.parse(); err != nil {
		return p.fail("%v", err)
	}
	if !f.has('i') {
		r := &sedRun{p: p, commands: parser.commands, quiet: f.has('n'), out: p.stdout()}
		return r.stream(names)
	}
	status := 0
	for _, name := range names {
		if n := sedInPlace(p, parser.commands, f, name); n != 0 {
			status = n
		}
	}
	return status
}

// sedInPlace edits a file, of which the old one is kept if -i has a suffix.
func sedInPlace(p *proc, commands []sedCommand, f flags, name string) int {
	var out capture
	file := p.m.newFile(&out)
	defer file.release(p.m)
	r := &sedRun{p: p, commands: append([]sedCommand(nil), commands...), quiet: f.has('n'), out: fileStream{p, file}}
	status := r.stream([]string{name})
	data := out.take()
	defer p.hold(-len(data))
	if status != 0 {
		return status
	}
	info, err := p.m.fs.stat(p.cred, p.abs(name), true)
	if suffix := f['i']; err == nil && suffix != "" {
		_ = p.m.fs.remove(p.cred, p.abs(name+suffix))
		err = p.m.fs.link(p.cred, p.abs(name), p.abs(name+suffix))
	}
	if err == nil {
		// sed replaces the file, so a mounted one is busy.
		err = p.replaceFile(name, data, info)
	}
	if err != nil {
		return p.fail("%s: %s", name, errText(err))
	}
	return 0
}

// replaceFile replaces a file by another one with the same mode.
func (p *proc) replaceFile(name string, data []byte, info fileInfo) error {
	temp := name + ".tmp~"
	file, err := p.create(temp, syscall.O_TRUNC)
	if err != nil {
		return err
	}
	defer file.close()
	_, err = file.Write(data)
	if err == nil {
		err = p.m.fs.chmod(p.cred, p.abs(temp), info.mode)
	}
	if err == nil {
		err = p.m.fs.rename(p.cred, p.abs(temp), p.abs(name))
	}
	if err != nil {
		_ = p.m.fs.remove(p.cred, p.abs(temp))
	}
	return err
}
