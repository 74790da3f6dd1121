package live

import (
	"fmt"
	"strconv"
	"time"
)

// formatShort formats a number in at most five columns: 12345 is 12.3k.
func formatShort(n int64) string {
	if n < 10_000 {
		return strconv.FormatInt(n, 10)
	}
	return formatScaled(float64(n))
}

// formatRate formats a rate per second in at most five columns; a rate that rounds
// to 0 is empty.
func formatRate(f float64) string {
	switch {
	case f < 0.05:
		return ""
	case f < 99.95:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case f < 9999.5:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return formatScaled(f)
}

func formatScaled(f float64) string {
	unit := 0
	for f >= 999.5 && unit < len("kMGT") {
		f, unit = f/1000, unit+1
	}
	digits := 1
	if f >= 99.95 {
		digits = 0
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + "kMGT"[unit-1:unit]
}

// formatDuration formats a duration in at most five columns: 850µs, 1.2ms, 45s,
// 2m05s, 3h04m.
func formatDuration(d time.Duration, ascii bool) string {
	micro := "µs"
	if ascii {
		micro = "us"
	}
	switch {
	case d <= 0:
		return "0"
	case d < 999500*time.Nanosecond:
		return fmt.Sprintf("%d%s", max(1, d.Round(time.Microsecond).Microseconds()), micro)
	case d < 9950*time.Microsecond:
		return fmt.Sprintf("%.1fms", d.Seconds()*1000)
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%.0fms", d.Seconds()*1000)
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 99500*time.Millisecond:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 100*time.Minute:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dh", int(d.Hours()))
}

// formatAge formats an age: 42s, 2m 05s, 3h 04m, 5d 03h.
func formatAge(d time.Duration) string {
	s := int(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd %02dh", s/86400, s/3600%24)
}
