package shell

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func seq(p *proc, args []string) int {
	sep, width, rest := "\n", false, args[1:]
	for len(rest) > 0 && len(rest[0]) > 1 && rest[0][0] == '-' && !(rest[0][1] >= '0' && rest[0][1] <= '9' || rest[0][1] == '.') {
		switch {
		case rest[0] == "-w":
			width = true
		case rest[0] == "-s" && len(rest) > 1:
			sep, rest = rest[1], rest[1:]
		case strings.HasPrefix(rest[0], "-s"):
			sep = rest[0][2:]
		default:
			return p.fail("unrecognized option: %s", rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) == 0 || len(rest) > 3 {
		return p.fail("missing operand")
	}
	values, decimals := []float64{1, 1, 1}, 0
	for i, s := range rest {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return p.fail("invalid number '%s'", s)
		}
		if dot := strings.IndexByte(s, '.'); dot >= 0 {
			decimals = min(20, max(decimals, len(s)-dot-1))
		}
		values[map[int][]int{1: {2}, 2: {0, 2}, 3: {0, 1, 2}}[len(rest)][i]] = x
	}
	first, step, last := values[0], values[1], values[2]
	if step == 0 {
		return p.fail("invalid increment '0'")
	}
	pad := 0
	if width {
		pad = max(len(strconv.FormatFloat(first, 'f', decimals, 64)), len(strconv.FormatFloat(last, 'f', decimals, 64)))
	}
	out := p.output()
	for i := 0; ; i++ {
		x := first + float64(i)*step
		if step > 0 && x > last || step < 0 && x < last {
			if i > 0 {
				_, _ = out.WriteString("\n")
			}
			break
		}
		p.step(1)
		if i > 0 {
			_, _ = out.WriteString(sep)
		}
		fmt.Fprintf(out, "%0*.*f", pad, decimals, x)
	}
	if err := out.Flush(); err != nil {
		return p.fail("write error: %s", errText(err))
	}
	return 0
}

func tee(p *proc, args []string) int {
	f, names := p.parseFlags(args, "ai", map[string]byte{"append": 'a'})
	status, mode := 0, syscall.O_TRUNC
	if f.has('a') {
		mode = syscall.O_APPEND
	}
	outs := []io.Writer{p.stdout()}
	for _, name := range names {
		file, err := p.create(name, mode)
		if err != nil {
			status = p.fail("%s: %s", name, errText(err))
			continue
		}
		defer file.close()
		outs = append(outs, file)
	}
	if err := p.copy(io.MultiWriter(outs...), p.stdin()); err != nil {
		return p.fail("%v", err)
	}
	return status
}

func tac(p *proc, args []string) int {
	_, names := p.parseFlags(args, "", nil)
	lines, release, status := p.readLines(names)
	defer release()
	for _, line := range slices.Backward(lines) {
		p.print(line + "\n")
	}
	return status
}

func rev(p *proc, args []string) int {
	_, names := p.parseFlags(args, "", nil)
	return p.eachLine(names, func(line []byte) {
		runes := []rune(string(line))
		slices.Reverse(runes)
		p.print(string(runes) + "\n")
	})
}

func nl(p *proc, args []string) int {
	f, names := p.parseFlags(args, "b:w:s:", map[string]byte{"body-numbering": 'b', "number-width": 'w', "number-separator": 's'})
	body := cmp.Or(f['b'], "t")
	if body != "a" && body != "t" {
		return p.fail("unrecognized option: b%s", body)
	}
	width, err := strconv.Atoi(cmp.Or(f['w'], "6"))
	if err != nil || width < 1 || width > 100 {
		return p.fail("invalid number '%s'", f['w'])
	}
	sep := "\t"
	if f.has('s') {
		sep = f['s']
	}
	n := 0
	return p.eachLine(names, func(line []byte) {
		if len(line) == 0 && body == "t" {
			p.print(strings.Repeat(" ", width+len(sep)) + "\n")
			return
		}
		n++
		p.printf("%*d%s%s\n", width, n, sep, line)
	})
}

func yes(p *proc, args []string) int {
	text := "y\n"
	if len(args) > 1 {
		text = strings.Join(args[1:], " ") + "\n"
	}
	text = strings.Repeat(text, 1+1024/len(text))
	for {
		if _, err := io.WriteString(p.stdout(), text); err != nil {
			return p.fail("write error: %s", errText(err))
		}
	}
}
