package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// playbackMessage is where in a recording the page is. It is sent when a user changes it:
// in between a page moves on itself.
type playbackMessage struct {
	Begin   time.Time `json:"begin"`
	End     time.Time `json:"end"`
	At      time.Time `json:"at"`
	Playing bool      `json:"playing"`
	Speed   string    `json:"speed"`
	Factor  float64   `json:"factor"`
	Speeds  []string  `json:"speeds"`
	// Stepped is set after a step: it is shown, whereas a pause stops the picture.
	Stepped bool `json:"stepped,omitempty"`
}

func playbackOf(p *replay.Player, stepped bool) ([]byte, error) {
	shown := p.Playback()
	r := shown.Recording
	return json.Marshal(playbackMessage{
		r.Begin().At, r.End().At, shown.Position.At, shown.Playing, shown.Speed(), shown.Factor(), replay.Speeds(), stepped,
	})
}

// playbackChange is what a user wants of the playback: one of the fields is set.
type playbackChange struct {
	Playing *bool  `json:"playing"`
	Speed   string `json:"speed"`
	// Move moves by a time, in milliseconds.
	Move int64 `json:"move"`
	// At is a time, or a duration since the beginning, as for "top --at"; "begin" or "end".
	At string `json:"at"`
	// Step goes to the next record that the page lists, or to the previous one if it is -1.
	Step int `json:"step"`
	// Zone is how far the clock of the page is ahead of UTC, in seconds.
	Zone int `json:"zone"`
}

// apply returns the playback after the change, and whether the records that lead to it are
// not those that follow on what was shown.
func (c playbackChange) apply(now time.Time, p replay.Playback) (changed replay.Playback, jumps bool, err error) {
	switch {
	case c.Playing != nil:
		if *c.Playing && p.AtEnd() {
			return p, false, errors.New("this is the end of the recording: go to its beginning")
		}
		p.Playing = *c.Playing
		return p, false, nil
	case c.Speed != "":
		p, err = p.WithSpeed(c.Speed, now)
		return p, false, err
	case c.Step > 0:
		to, ok := p.Recording.Next(p.Position, listOf(p.Recording).has)
		if !ok {
			return p, false, errors.New("no later record")
		}
		return p.To(to), false, nil
	case c.Step < 0:
		to, ok := p.Recording.Previous(p.Position, listOf(p.Recording).has)
		if !ok {
			return p, false, errors.New("no earlier record")
		}
		return p.To(to), true, nil
	}
	to, err := c.target(p)
	if err != nil {
		return p, false, err
	}
	playing := p.Playing
	p = p.To(to)
	p.Playing = playing && !p.AtEnd()
	return p, true, nil
}

func (c playbackChange) target(p replay.Playback) (replay.Position, error) {
	switch c.At {
	case "":
		return p.Recording.Seek(p.Position.At.Add(time.Duration(c.Move) * time.Millisecond)), nil
	case "begin":
		return p.Recording.Begin(), nil
	case "end":
		return p.Recording.End(), nil
	}
	return p.Recording.Find(c.At, time.FixedZone("", c.Zone))
}

// listOf returns the list of a recording.
func listOf(r *replay.Recording) *list {
	_, reported := r.Next(r.Begin(), reportsWrites)
	return &list{reported}
}

// changePlayback changes what all pages show.
func (s *Server) changePlayback(w http.ResponseWriter, req *http.Request) {
	if s.options.Player == nil {
		writeError(w, http.StatusNotFound, errors.New("this page shows a control plane, not a recording"))
		return
	}
	var change playbackChange
	if err := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<10)).Decode(&change); err != nil {
		writeError(w, http.StatusBadRequest, errors.New("request body: not valid JSON"))
		return
	}
	jumps := false
	err := s.options.Player.Change(func(now time.Time, shown replay.Playback) (changed replay.Playback, err error) {
		changed, jumps, err = change.apply(now, shown)
		return changed, err
	})
	if err != nil {
		writeError(w, http.StatusConflict, err)
		return
	}
	s.hub.playbackChanged(jumps, change.Step != 0)
	writeJSON(w, http.StatusOK, struct{}{})
}
