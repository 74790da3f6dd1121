package shell

import (
	"strings"
	"syscall"
)

func sed(p *proc, args []string) int {
	scripts, rest, inPlace := sedArgs(args)
	f, names, ok := p.parseFlags(rest, "nErise:f:u", map[string]byte{"quiet": 'n', "silent": 'n', "regexp-extended": 'E', "expression": 'e', "file": 'f'})
	if !ok {
		return 1
	}
	inPlace = inPlace || f.has('i')
	if f.has('e') {
		scripts = append(scripts, f['e'])
	}
	if f.has('f') {
		text, err := p.readScript(f['f'])
		if err != nil {
			return p.fail("can't open '%s': %s", f['f'], errText(err))
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
	parser := sedParser{p: p, src: strings.Join(scripts, "\n"), extended: f.has('E') || f.has('r')}
	if err := parser.parse(); err != nil {
		return p.fail("%v", err)
	}
	if !inPlace {
		r := &sedRun{p: p, commands: parser.commands, quiet: f.has('n'), out: p.stdout()}
		return r.stream(names)
	}
	status := 0
	for _, name := range names {
		if n := sedInPlace(p, parser.commands, f.has('n'), name); n != 0 {
			status = n
		}
	}
	return status
}

// sedArgs takes out of the arguments what parseFlags cannot parse: -e, which may be given
// several times, and the suffix of -i.
func sedArgs(args []string) (scripts, rest []string, inPlace bool) {
	rest = []string{args[0]}
	for i := 1; i < len(args); i++ {
		switch {
		case (args[i] == "-e" || args[i] == "--expression") && i+1 < len(args):
			i++
			scripts = append(scripts, args[i])
		case isInPlace(args[i]):
			inPlace = true
			rest = append(rest, "-i")
		default:
			rest = append(rest, args[i])
		}
	}
	return scripts, rest, inPlace
}

// isInPlace reports whether an argument is -i with or without a suffix, and not the first of
// several flags.
func isInPlace(arg string) bool {
	suffix, ok := strings.CutPrefix(arg, "-i")
	return ok && (suffix == "" || strings.IndexByte("neEr", suffix[0]) < 0) || arg == "--in-place"
}

// sedInPlace edits a file.
func sedInPlace(p *proc, commands []sedCommand, quiet bool, name string) int {
	var out capture
	file := p.m.newFile(&out)
	defer file.release(p.m)
	r := &sedRun{p: p, commands: append([]sedCommand(nil), commands...), quiet: quiet, out: fileStream{p, file}}
	status := r.stream([]string{name})
	data := out.take()
	defer p.hold(-len(data))
	if status != 0 {
		return status
	}
	info, err := p.m.fs.stat(p.cred, p.abs(name), true)
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
	_, err = file.Write(data)
	file.close()
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
