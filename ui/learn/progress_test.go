package learn

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
)

// Lessons that run at the same time keep each other's progress.
func TestSaveStepKeepsOtherLessons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "learn.json")
	const lessons, steps = 4, 9
	var all sync.WaitGroup
	for i := range lessons {
		all.Go(func() {
			for step := range steps {
				if err := SaveStep(path, "", fmt.Sprint(i), step, steps); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p, err := ReadProgress(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := range lessons {
		if at := p.ResumeStep(fmt.Sprint(i), steps); at != steps-1 {
			t.Errorf("lesson %d continues at step %d", i, at)
		}
	}
	if err := SaveStep(path, "", "0", steps, steps); err != nil {
		t.Fatal(err)
	}
	if p, err = ReadProgress(path, ""); err != nil || !p.Lessons["0"].Done || p.ResumeStep("0", steps) != 0 || p.Last != "0" {
		t.Errorf("got %+v, %v after the end", p, err)
	}
}

// Students with control planes of their own have progress of their own, and what was left is found also after another
// lesson was completed.
func TestProgressOnSeveralControlPlanes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "learn.json")
	all := []*Lesson{{Name: "01-a", Steps: make([]*Step, 3)}, {Name: "02-b", Steps: make([]*Step, 3)}, {Name: "03-c", Steps: make([]*Step, 3)}}
	for _, s := range []struct {
		plane, lesson string
		step          int
		want          map[string]string // the unfinished lesson, by control plane
	}{
		{"", "02-b", 0, map[string]string{"": "02-b", "/ann": ""}},
		{"", "02-b", 2, map[string]string{"": "02-b", "/ann": ""}},
		{"/ann", "03-c", 1, map[string]string{"": "02-b", "/ann": "03-c"}},
		{"", "01-a", 3, map[string]string{"": "02-b", "/ann": "03-c"}},
		{"", "02-b", 3, map[string]string{"": "", "/ann": "03-c"}},
		{"/ann", "03-c", 3, map[string]string{"": "", "/ann": ""}},
	} {
		if err := SaveStep(path, s.plane, s.lesson, s.step, 3); err != nil {
			t.Fatal(err)
		}
		for plane, want := range s.want {
			if p, err := ReadProgress(path, plane); err != nil || p.Unfinished(all) != want {
				t.Errorf("after step %d of %s on %q: on %q %q, %v, want %q", s.step, s.lesson, s.plane, plane, p.Unfinished(all), err, want)
			}
		}
	}
}
