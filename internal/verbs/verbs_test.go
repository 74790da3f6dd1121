package verbs

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
)

// called is the implementation that is called: it notes which method that was.
type called struct {
	control.Interventions // nil
	change                Change
}

func (c *called) note(change Change) ([]string, error) {
	c.change = change
	return nil, nil
}

func (c *called) Stop(context.Context, []string) ([]string, error) {
	return c.note(Change{Verb: "stop"})
}
func (c *called) Start(context.Context, []string) ([]string, error) {
	return c.note(Change{Verb: "start"})
}
func (c *called) Pause(context.Context, []string) ([]string, error) {
	return c.note(Change{Verb: "pause"})
}
func (c *called) Resume(context.Context, []string) ([]string, error) {
	return c.note(Change{Verb: "resume"})
}
func (c *called) Clear(context.Context, []string) ([]string, error) {
	return c.note(Change{Verb: "clear"})
}
func (c *called) Remove(context.Context, []string) ([]string, error) {
	return c.note(Change{Verb: "remove"})
}

func (c *called) Delay(_ context.Context, _ []string, d time.Duration) ([]string, error) {
	return c.note(Change{Verb: "delay", Delay: d})
}

func (c *called) Fail(_ context.Context, _ []string, f control.Fault) ([]string, error) {
	return c.note(Change{Verb: "fail", Fault: f})
}

func (c *called) Scale(_ context.Context, _ []string, workers int) ([]string, error) {
	return c.note(Change{Verb: "scale", Workers: workers})
}

// TestVerbs checks that each verb calls its own method, and each method has its own verb.
func TestVerbs(t *testing.T) {
	all := map[string]Change{}
	for _, verb := range All {
		all[verb] = Change{Verb: verb}
	}
	all["delay"] = Change{Verb: "delay", Delay: time.Second}
	all["fail"] = Change{Verb: "fail", Fault: control.Fault{Rate: 1, Code: "409"}}
	all["scale"] = Change{Verb: "scale", Workers: 3}
	for verb, change := range all {
		end := &called{}
		if _, err := change.Apply(t.Context(), end, nil); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if diff := cmp.Diff(change, end.change); diff != "" {
			t.Errorf("%s: -want +got:\n%s", verb, diff)
		}
	}
	var got Change
	m := Methods(func(_ context.Context, _ []string, c Change) ([]string, error) {
		got = c
		return nil, nil
	})
	for verb, do := range map[string]func(context.Context, []string) ([]string, error){
		"stop": m.Stop, "start": m.Start, "pause": m.Pause, "resume": m.Resume, "clear": m.Clear, "remove": m.Remove,
		"delay": func(ctx context.Context, names []string) ([]string, error) { return m.Delay(ctx, names, time.Second) },
		"fail": func(ctx context.Context, names []string) ([]string, error) {
			return m.Fail(ctx, names, all["fail"].Fault)
		},
		"scale": func(ctx context.Context, names []string) ([]string, error) { return m.Scale(ctx, names, 3) },
	} {
		if _, err := do(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if diff := cmp.Diff(all[verb], got); diff != "" {
			t.Errorf("method %s: -want +got:\n%s", verb, diff)
		}
	}
}

// TestSteps checks how long each method waits for a write.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Steps(func(ctx, wait context.Context, name string) (*control.SteppedWrite, error) {
			<-wait.Done()
			return nil, ctx.Err()
		})
		for name, c := range map[string]struct {
			step func(context.Context, string) (*control.SteppedWrite, error)
			want time.Duration
		}{"Step": {s.Step, control.StepTimeout}, "StepHeld": {s.StepHeld, 0}} {
			began := time.Now()
			if _, err := c.step(t.Context(), "job"); err != nil || time.Since(began) != c.want {
				t.Errorf("%s: %v after %v", name, err, time.Since(began))
			}
		}
	})
}
