package replay

import (
	"fmt"
	"strings"
	"time"
)

// minuteFormat is that of a time of the day that means the whole minute.
const minuteFormat = "15:04"

// clockFormats are those of a time of the day.
var clockFormats = []string{minuteFormat, "15:04:05.999999999"}

// Find returns the position that a user calls by text: a time in RFC 3339, a time of the
// day in zone, or a duration since the beginning.
func (r *Recording) Find(text string, zone *time.Location) (Position, error) {
	text = strings.TrimSpace(text)
	at, err := r.parseTime(text, zone)
	if err != nil {
		return Position{}, err
	}
	// Times are shown with milliseconds, seconds or minutes, but begin and end in between.
	if at.After(r.end) || at.Before(r.begin.Truncate(precisionOf(text))) {
		return Position{}, fmt.Errorf("%q is not in the recording, which goes from %s to %s (%s)", text,
			r.begin.In(zone).Format(time.RFC3339), r.end.In(zone).Format(time.RFC3339), r.Took().Round(time.Millisecond))
	}
	return r.Seek(at), nil
}

// precisionOf returns how exact a time is: one without seconds means the whole minute.
func precisionOf(text string) time.Duration {
	if _, err := time.Parse(minuteFormat, text); err == nil {
		return time.Minute
	}
	return time.Second
}

func (r *Recording) parseTime(text string, zone *time.Location) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if since, err := time.ParseDuration(text); err == nil && since >= 0 {
		return r.begin.Add(since), nil
	}
	for _, format := range clockFormats {
		if clock, err := time.ParseInLocation(format, text, zone); err == nil {
			return r.onDay(clock, zone, precisionOf(text)), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: use one such as %s, a time of the day such as %s, or a duration since the beginning such as 1m30s",
		text, r.begin.In(zone).Format(time.RFC3339), r.begin.In(zone).Format(time.TimeOnly))
}

// onDay returns a time of the day on the day on which the recording begins, or on the
// next one if it was not that time any more.
func (r *Recording) onDay(clock time.Time, zone *time.Location, precision time.Duration) time.Time {
	day := r.begin.In(zone)
	at := time.Date(day.Year(), day.Month(), day.Day(), clock.Hour(), clock.Minute(), clock.Second(), clock.Nanosecond(), zone)
	if at.Before(day.Truncate(precision)) && !at.AddDate(0, 0, 1).After(r.end) {
		return at.AddDate(0, 0, 1)
	}
	return at
}
