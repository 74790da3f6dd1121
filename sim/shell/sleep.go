package shell

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

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
