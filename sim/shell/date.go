package shell

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/itchyny/timefmt-go"
)

// parseDate understands what date -d is mostly given.
func parseDate(s string) (time.Time, error) {
	if seconds, ok := strings.CutPrefix(s, "@"); ok {
		if n, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			return time.Unix(n, 0), nil
		}
	}
	now := time.Now().UTC()
	switch s {
	case "now", "today", "":
		return now, nil
	case "yesterday":
		return now.AddDate(0, 0, -1), nil
	case "tomorrow":
		return now.AddDate(0, 0, 1), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02", time.RFC1123Z, time.RFC1123, time.UnixDate, "15:04:05", "15:04"} {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		if t.Year() == 0 {
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
		}
		return t, nil
	}
	fields := strings.Fields(strings.TrimSuffix(s, " ago"))
	if len(fields) == 2 {
		n, err := strconv.Atoi(fields[0])
		unit, ok := map[string]time.Duration{"second": time.Second, "sec": time.Second, "minute": time.Minute, "min": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour}[strings.TrimSuffix(fields[1], "s")]
		if err == nil && ok && n > -1e6 && n < 1e6 {
			if strings.HasSuffix(s, " ago") {
				n = -n
			}
			return now.Add(time.Duration(n) * unit), nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid date '%s'", s)
}

// parseStamp understands [[CC]YY]MMDDhhmm[.ss].
func parseStamp(s string) (time.Time, error) {
	layout := map[int]string{8: "01021504", 10: "0601021504", 12: "200601021504"}[len(strings.SplitN(s, ".", 2)[0])]
	if strings.Contains(s, ".") {
		layout += ".05"
	}
	t, err := time.Parse(layout, s)
	if err != nil {
		return t, fmt.Errorf("invalid date '%s'", s)
	}
	if t.Year() == 0 {
		t = t.AddDate(time.Now().UTC().Year(), 0, 0)
	}
	return t, nil
}

// isoFormat returns the format that date -I has a name for.
func isoFormat(name string) (string, bool) {
	switch name {
	case "", "date":
		return "%Y-%m-%d", true
	case "hours":
		return "%Y-%m-%dT%H+00:00", true
	case "minutes":
		return "%Y-%m-%dT%H:%M+00:00", true
	case "seconds", "s":
		return "%Y-%m-%dT%H:%M:%S+00:00", true
	}
	return "", false
}

func date(p *proc, args []string) int {
	f, rest := p.parseFlags(args, "uRI::d:r:s:", map[string]byte{"utc": 'u', "date": 'd', "reference": 'r', "iso-8601": 'I', "rfc-email": 'R', "rfc-2822": 'R'})
	if f.has('s') {
		return p.fail("can't set date: %s", errText(syscall.EPERM))
	}
	t := time.Now()
	if f.has('d') {
		var err error
		if t, err = parseDate(f['d']); err != nil {
			return p.fail("%v", err)
		}
	}
	if f.has('r') {
		info, err := p.m.fs.stat(p.cred, p.abs(f['r']), true)
		if err != nil {
			return p.fail("%s: %s", f['r'], errText(err))
		}
		t = info.modTime
	}
	t = t.UTC() // containers have no time zone
	format := "%a %b %e %H:%M:%S %Z %Y"
	switch {
	case f.has('R'):
		format = "%a, %d %b %Y %H:%M:%S %z"
	case f.has('I'):
		var ok bool
		if format, ok = isoFormat(f['I']); !ok {
			return p.fail("invalid argument '%s'", f['I'])
		}
	}
	for _, arg := range rest {
		if !strings.HasPrefix(arg, "+") {
			return p.fail("invalid date '%s'", arg)
		}
		format = arg[1:]
	}
	size := maxDateGrowth * len(format)
	p.hold(size)
	defer p.hold(-size)
	p.print(strftime(format, t) + "\n")
	return 0
}

// maxDateGrowth is how much longer a date can be than its format: %999n has 999 characters.
const maxDateGrowth = 200

// nanoseconds are the fields that timefmt does not have, and what only looks like one: %%N.
var nanoseconds = regexp.MustCompile(`%%|%-?[1-9]?N`)

// strftime formats a time as date +format does.
func strftime(format string, t time.Time) string {
	text := fmt.Sprintf("%09d", t.Nanosecond())
	return timefmt.Format(t, nanoseconds.ReplaceAllStringFunc(format, func(field string) string {
		switch digits := strings.Trim(field, "%-N"); {
		case field == "%%":
			return field
		case digits != "":
			return text[:digits[0]-'0']
		case field == "%-N":
			return strconv.Itoa(t.Nanosecond())
		}
		return text
	}))
}
