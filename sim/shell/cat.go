package shell

import "io"

func cat(p *proc, args []string) int {
	f, names := p.parseFlags(args, "nbu", nil)
	number := 0
	return p.eachInput(names, func(_ string, r io.Reader) error {
		if !f.has('n') && !f.has('b') {
			return p.copy(p.stdout(), r)
		}
		return p.lines(r, func(line []byte, _ bool) bool {
			if f.has('b') && len(line) == 0 {
				p.print("\n")
				return true
			}
			number++
			p.printf("%6d\t%s\n", number, line)
			return true
		})
	})
}
