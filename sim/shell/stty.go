package shell

import "fmt"

// stty prints the size of the terminal. It simulates no settings.
func stty(p *proc, args []string) int {
	if len(args) == 1 {
		return p.fail("the settings of a terminal are not simulated, except for size")
	}
	for i, arg := range args[1:] {
		if arg != "size" || i > 0 {
			return p.fail("invalid argument '%s'", arg)
		}
	}
	if !p.isTerminal(0) {
		return p.fail("standard input: Not a tty")
	}
	rows, columns := 0, 0
	if p.m.cfg.TerminalSize != nil {
		p.idle(func() { rows, columns = p.m.cfg.TerminalSize(p.ctx) })
	}
	p.print(fmt.Sprintf("%d %d\n", rows, columns))
	return 0
}
