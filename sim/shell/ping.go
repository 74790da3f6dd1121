package shell

import (
	"strconv"
	"strings"
	"time"
)

// maxPingWait is how long ping waits for an answer that does not come.
const maxPingWait = 10 * time.Second

// ping asks whether something has the address of a host. An answer takes no time.
func ping(p *proc, args []string) int {
	f, rest := p.parseFlags(args, "c:i:w:W:s:I:t:qn46", nil)
	if len(rest) != 1 {
		return p.fail("missing operand")
	}
	if p.m.cfg.Answers == nil {
		return noNetwork(p, args)
	}
	to, ok := p.pingFlags(f)
	if !ok {
		return 1
	}
	addresses, err := p.resolve(rest[0])
	if err != nil || len(addresses) == 0 {
		return p.fail("bad address '%s'", rest[0])
	}
	address := addresses[0]
	p.printf("PING %s (%s): 56 data bytes\n", rest[0], address)
	sent, received := p.sendPings(address, to)
	p.print("\n--- " + rest[0] + " ping statistics ---\n" + pingStatistics(sent, received) + "\n")
	if received == 0 {
		return 1
	}
	return 0
}

// pingFlags are the flags of ping. A count of 0 means no limit, as does a zero end.
type pingFlags struct {
	count          int
	interval, wait time.Duration
	end            time.Time
	quiet          bool
}

func (p *proc) pingFlags(f flags) (pingFlags, bool) {
	to := pingFlags{interval: time.Second, wait: maxPingWait, quiet: f.has('q')}
	if f.has('c') {
		n, err := strconv.Atoi(f['c'])
		if err != nil || n < 0 {
			p.fail("invalid number '%s'", f['c'])
			return to, false
		}
		to.count = n
	}
	for _, name := range []byte("iWw") {
		value := f[name]
		if !f.has(name) {
			continue
		}
		d, err := sleepTime([]string{value})
		if err != nil {
			p.fail("invalid number '%s'", value)
			return to, false
		}
		switch d = max(d, 0); {
		case name == 'W':
			to.wait = min(to.wait, d)
		case d == 0: // the default
		case name == 'i':
			to.interval = d
		default:
			to.end = time.Now().Add(d)
		}
	}
	return to, true
}

// sendPings sends packets until the count or the end is reached.
func (p *proc) sendPings(address string, f pingFlags) (sent, received int) {
	pause := func(d time.Duration) {
		if !f.end.IsZero() {
			d = min(d, time.Until(f.end))
		}
		p.sleep(d)
	}
	for f.count == 0 || sent < f.count {
		p.step(1)
		if sent > 0 {
			pause(f.interval)
			if !f.end.IsZero() && !time.Now().Before(f.end) {
				break
			}
		}
		if p.m.cfg.Answers(address) {
			received++
			if !f.quiet {
				p.printf("64 bytes from %s: seq=%d ttl=64 time=0.000 ms\n", address, sent)
			}
		} else if sent+1 == f.count {
			pause(f.wait)
		}
		sent++
	}
	return sent, received
}

func pingStatistics(sent, received int) string {
	lost := 0
	if sent > 0 {
		lost = 100 * (sent - received) / sent
	}
	return strings.Join([]string{
		strconv.Itoa(sent) + " packets transmitted",
		strconv.Itoa(received) + " packets received",
		strconv.Itoa(lost) + "% packet loss",
	}, ", ")
}
