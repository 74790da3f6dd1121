package words

import (
	"fmt"
	"math"
	"time"
)

// Duration formats d as "<1 ms", "41 ms", "1.2 s" or "2 m 05 s".
func Duration(d time.Duration) string {
	switch ms := d.Round(time.Millisecond); {
	case ms <= 0:
		return "<1 ms"
	case ms < time.Second:
		return fmt.Sprintf("%d ms", ms.Milliseconds())
	case ms < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", ms.Seconds())
	}
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d m %02d s", s/60, s%60)
}

// Size formats a number of bytes: "4.2 MiB", "312 MiB".
func Size(n int64) string {
	f, unit := float64(n), 0
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for f >= 999.5 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	if unit == 0 || f >= 9.95 {
		return fmt.Sprintf("%d %s", int64(math.Round(f)), units[unit])
	}
	return fmt.Sprintf("%.1f %s", f, units[unit])
}
