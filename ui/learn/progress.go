package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Progress is the reader's progress in all lessons.
type Progress struct {
	Last    string                    `json:"last,omitempty"` // the most recent lesson, by name or path
	Lessons map[string]LessonProgress `json:"lessons"`
}

// LessonProgress is the reader's progress in one lesson.
type LessonProgress struct {
	Step int  `json:"step"` // the step to continue with, from 0
	Of   int  `json:"of"`   // the lesson's number of steps
	Done bool `json:"done,omitempty"`
}

// ReadProgress reads the progress file; without one the progress is empty.
func ReadProgress(path string) (Progress, error) {
	p := Progress{Lessons: map[string]LessonProgress{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("cannot parse %s: %w: remove it to reset the progress", path, err)
	}
	if p.Lessons == nil {
		p.Lessons = map[string]LessonProgress{}
	}
	return p, nil
}

// SaveStep records that a step of a lesson begins, or that the lesson is done, and writes
// the file.
func (p *Progress) SaveStep(path, lesson string, step, of int) error {
	m := p.Lessons[lesson]
	m.Step, m.Of = step, of
	if step >= of {
		m.Step, m.Done = 0, true
	}
	p.Last, p.Lessons[lesson] = lesson, m
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// ResumeStep is the step to continue with; 0 if the lesson has changed.
func (p *Progress) ResumeStep(lesson string, steps int) int {
	if m := p.Lessons[lesson]; m.Of == steps {
		return m.Step
	}
	return 0
}
