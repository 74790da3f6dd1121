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
				if err := SaveStep(path, fmt.Sprint(i), step, steps); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p, err := ReadProgress(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lessons {
		if at := p.ResumeStep(fmt.Sprint(i), steps); at != steps-1 {
			t.Errorf("lesson %d continues at step %d", i, at)
		}
	}
	if err := SaveStep(path, "0", steps, steps); err != nil {
		t.Fatal(err)
	}
	if p, err = ReadProgress(path); err != nil || !p.Lessons["0"].Done || p.ResumeStep("0", steps) != 0 || p.Last != "0" {
		t.Errorf("got %+v, %v after the end", p, err)
	}
}
