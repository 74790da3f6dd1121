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
	f, rest, ok := p.parseFlags(args, "c:i:w:W:s:I:t:qn46", nil)
	if !ok {
		return 1
	}
	if len(rest) != 1 {
		return p.fail("missing operand")
	}
	if p.m.cfg.Answers == nil {
		return noNetwork(p, args)
	}
	count, interval, wait := 0, time.Second, maxPingWait
	if n, err := strconv.Atoi(f['c']); err == nil {
		count = n
	}
	if d, err := sleepTime([]string{f['i']}); err == nil && d > 0 {
		interval = d
	}
	if d, err := sleepTime([]string{f['W']}); err == nil {
		wait = min(wait, max(d, 0))
	}
	addresses, err := p.resolve(rest[0])
	if err != nil || len(addresses) == 0 {
		return p.fail("bad address '%s'", rest[0])
	}
	address := addresses[0]
	p.printf("PING %s (%s): 56 data bytes\n", rest[0], address)
	sent, received := 0, 0
	for count == 0 || sent < count {
		if sent > 0 {
			p.idle(func() { p.wait(interval) })
		}
		if p.m.cfg.Answers(address) {
			received++
			if !f.has('q') {
				p.printf("64 bytes from %s: seq=%d ttl=64 time=0.000 ms\n", address, sent)
			}
		} else if sent+1 == count {
			p.idle(func() { p.wait(wait) })
		}
		sent++
	}
	p.print("\n--- " + rest[0] + " ping statistics ---\n" + pingStatistics(sent, received) + "\n")
	if received == 0 {
		return 1
	}
	return 0
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
