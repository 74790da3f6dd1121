package replay

import (
	"fmt"
	"strings"
	"time"
)

// Playback is a position in a recording, and whether and how fast it moves on. It is a
// value: each method returns the playback after a change.
type Playback struct {
	Recording *Recording
	Position  Position
	Playing   bool

	speed   int       // index in speeds, counted from normalSpeed
	reached time.Time // when Position was reached; zero = now, whenever that is asked
}

// speeds are those of playing.
var speeds = []struct {
	factor float64
	name   string
}{{0.1, "1/10"}, {0.2, "1/5"}, {0.5, "1/2"}, {1, "1"}, {2, "2"}, {5, "5"}, {10, "10"}, {60, "60"}}

const normalSpeed = 3 // index in speeds

// Speeds are the names of the speeds of playing, slowest first.
func Speeds() (names []string) {
	for _, s := range speeds {
		names = append(names, s.name)
	}
	return names
}

// Speed is the name of the speed.
func (p Playback) Speed() string { return speeds[normalSpeed+p.speed].name }

// Factor is how many seconds of the recording a second shows.
func (p Playback) Factor() float64 { return speeds[normalSpeed+p.speed].factor }

// On returns the playback as it is now: it has moved on if it plays, and pauses at the end.
func (p Playback) On(now time.Time) Playback {
	if p.Playing && !p.reached.IsZero() {
		passed := time.Duration(float64(now.Sub(p.reached)) * p.Factor())
		p.Position = p.Recording.Seek(p.Position.At.Add(passed))
		p.Playing = !p.AtEnd()
	}
	p.reached = now
	return p
}

// To returns the playback at another position, paused.
func (p Playback) To(position Position) Playback {
	p.Position, p.Playing = position, false
	return p
}

// AtEnd reports whether nothing of the recording is left to play.
func (p Playback) AtEnd() bool { return !p.Position.At.Before(p.Recording.End().At) }

// Faster returns the playback with the speed that is the given number of steps faster, or
// slower if it is negative. ok is false if that is beyond the last one.
func (p Playback) Faster(steps int, now time.Time) (faster Playback, ok bool) {
	if i := normalSpeed + p.speed + steps; i < 0 || i >= len(speeds) {
		return p, false
	}
	p = p.On(now) // up to here at the speed before
	p.speed += steps
	return p, true
}

// WithSpeed returns the playback with the speed of a name.
func (p Playback) WithSpeed(name string, now time.Time) (Playback, error) {
	for i, s := range speeds {
		if s.name == name {
			p, _ = p.Faster(i-normalSpeed-p.speed, now)
			return p, nil
		}
	}
	return p, fmt.Errorf("%q is not a speed: use %s", name, strings.Join(Speeds(), ", "))
}
