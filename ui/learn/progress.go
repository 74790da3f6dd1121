package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/ctrlplane/ctrlplane/internal/durable"
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

// SaveStep records in the progress file that a step of a lesson begins, or that the lesson is
// done. It keeps what other processes have recorded about other lessons.
func SaveStep(path, lesson string, step, of int) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// The lock is a file of its own, because the progress file is replaced.
	lock, err := fileutil.LockFile(path+".lock", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot lock %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	p, err := ReadProgress(path)
	if err != nil {
		return err
	}
	p.begin(lesson, step, of)
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return durable.Write(path, append(data, '\n'), false)
}

// begin records that a step of a lesson begins, or that the lesson is done.
func (p *Progress) begin(lesson string, step, of int) {
	m := p.Lessons[lesson]
	m.Step, m.Of = step, of
	if step >= of {
		m.Step, m.Done = 0, true
	}
	p.Last, p.Lessons[lesson] = lesson, m
}

// ResumeStep is the step to continue with; 0 if the lesson has changed.
func (p *Progress) ResumeStep(lesson string, steps int) int {
	if m := p.Lessons[lesson]; m.Of == steps {
		return m.Step
	}
	return 0
}
