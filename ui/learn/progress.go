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

// Progress is the reader's progress in all lessons on one control plane.
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

// progressFile is the progress on all control planes.
type progressFile struct {
	Progress                     // on the default one
	Planes   map[string]Progress `json:"planes,omitempty"` // on the others, by data folder
}

// of returns the progress on a control plane, whose data folder is empty for the default one.
func (f *progressFile) of(plane string) Progress {
	p := f.Progress
	if plane != "" {
		p = f.Planes[plane]
	}
	if p.Lessons == nil {
		p.Lessons = map[string]LessonProgress{}
	}
	return p
}

func (f *progressFile) set(plane string, p Progress) {
	switch {
	case plane == "":
		f.Progress = p
		return
	case f.Planes == nil:
		f.Planes = map[string]Progress{}
	}
	f.Planes[plane] = p
}

func readProgressFile(path string) (f progressFile, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, fmt.Errorf("cannot parse %s: %w: remove it to reset the progress", path, err)
	}
	return f, nil
}

// ReadProgress reads the progress on a control plane from a file; without one the progress is empty. The data folder of
// the control plane is empty for the default one.
func ReadProgress(path, plane string) (Progress, error) {
	f, err := readProgressFile(path)
	return f.of(plane), err
}

// SaveStep records in the progress file that a step of a lesson begins, or that the lesson is
// done. It keeps what other processes have recorded about other lessons.
func SaveStep(path, plane, lesson string, step, of int) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// The lock is a file of its own, because the progress file is replaced.
	lock, err := fileutil.LockFile(path+".lock", os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot lock %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	f, err := readProgressFile(path)
	if err != nil {
		return err
	}
	p := f.of(plane)
	p.begin(lesson, step, of)
	f.set(plane, p)
	data, err := json.MarshalIndent(f, "", "  ")
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

// Unfinished is the lesson to continue with: the most recent one unless it is done, or else the first one of a list that
// was left; empty if there is none.
func (p *Progress) Unfinished(all []*Lesson) string {
	if last := p.Lessons[p.Last]; p.Last != "" && (last.Step > 0 || !last.Done) {
		return p.Last
	}
	for _, l := range all {
		if p.ResumeStep(l.Name, len(l.Steps)) > 0 {
			return l.Name
		}
	}
	return ""
}

// ResumeStep is the step to continue with; 0 if the lesson has changed.
func (p *Progress) ResumeStep(lesson string, steps int) int {
	if m := p.Lessons[lesson]; m.Of == steps {
		return m.Step
	}
	return 0
}
