package shell

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

func env(p *proc, args []string) int {
	rest := args[1:]
	for len(rest) > 0 {
		switch arg := rest[0]; {
		case arg == "-i" || arg == "-" || arg == "--ignore-environment":
			p.env = nil
		case arg == "-u" && len(rest) > 1:
			rest = rest[1:]
			p.env = slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool { return strings.HasPrefix(kv, rest[0]+"=") })
		case arg == "--":
		case strings.HasPrefix(arg, "-S"):
			rest = append([]string{""}, append(strings.Fields(arg[2:]), rest[1:]...)...)
		case strings.HasPrefix(arg, "-"):
			return p.fail("unrecognized option: %s", arg)
		case strings.Contains(arg, "="):
			name, _, _ := strings.Cut(arg, "=")
			p.env = append(slices.DeleteFunc(slices.Clone(p.env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") }), arg)
		default:
			return p.child(rest)
		}
		rest = rest[1:]
	}
	for _, kv := range p.env {
		p.print(kv + "\n")
	}
	return 0
}

func printenv(p *proc, args []string) int {
	if len(args) == 1 {
		return env(p, args)
	}
	status := 0
	for _, name := range args[1:] {
		if !slices.ContainsFunc(p.env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			status = 1
			continue
		}
		p.print(p.getenv(name) + "\n")
	}
	return status
}

// sleepTime adds up the arguments of sleep; forever is negative.
func sleepTime(args []string) (time.Duration, error) {
	if len(args) == 0 {
		return 0, fmt.Errorf("missing operand")
	}
	total := time.Duration(0)
	for _, arg := range args {
		if arg == "infinity" || arg == "inf" {
			return -1, nil
		}
		unit, number := time.Second, arg
		if n := len(arg); n > 0 {
			if u, ok := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[arg[n-1]]; ok {
				unit, number = u, arg[:n-1]
			}
		}
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || x < 0 || math.IsNaN(x) || strings.ContainsAny(number, "xXpP_") {
			return 0, fmt.Errorf("invalid number '%s'", arg)
		}
		if x*float64(unit) > float64(math.MaxInt64/2) || total > math.MaxInt64/2 {
			return -1, nil
		}
		total += time.Duration(x * float64(unit))
	}
	return total, nil
}

func sleep(p *proc, args []string) int {
	d, err := sleepTime(args[1:])
	if err != nil {
		return p.fail("%v", err)
	}
	if path.Base(args[0]) == "usleep" {
		d /= 1e6
	}
	if d < 0 {
		d = math.MaxInt64
	}
	p.sleep(d)
	return 0
}
