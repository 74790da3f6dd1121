package trace

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// specialControllers are those of which rules of this package know more than what the records say.
var specialControllers = []string{
	controllernames.CronJob, controllernames.Deployment, controllernames.GarbageCollector, controllernames.NodeLifecycle,
	controllernames.PodGarbageCollector, controllernames.ReplicaSet, controllernames.SimulatedKubelet, controllernames.TaintEviction, observe.Own,
}

// alterRecords gives controllers another name, leaves out records, and gives objects another kind: what records may be after a
// restart, at the end of the history, or with another version of a controller.
func alterRecords(records []observe.Record, random *rand.Rand) (altered []observe.Record) {
	renamed := map[string]string{}
	kinds := []observe.Object{{Resource: "nodes", Kind: "Node"}, {Resource: "pods", Kind: "Pod"}, {Resource: "jobs", Group: "batch", Kind: "Job"}, {}}
	name := func(controller string) string {
		if _, ok := renamed[controller]; !ok {
			renamed[controller] = controller
			if random.IntN(2) == 0 {
				renamed[controller] = specialControllers[random.IntN(len(specialControllers))]
			}
		}
		return renamed[controller]
	}
	object := func(o observe.Object) observe.Object {
		if random.IntN(20) == 0 {
			kind := kinds[random.IntN(len(kinds))]
			o.Resource, o.Group, o.Kind = kind.Resource, kind.Group, kind.Kind
		}
		return o
	}
	lost := random.IntN(3) * 10 // percent
	for _, r := range records {
		if random.IntN(100) < lost {
			continue
		}
		switch e := r.Event.(type) {
		case *observe.Called:
			c := *e
			c.Controller, c.Object = name(c.Controller), object(c.Object)
			r.Event = &c
		case *observe.Delivered:
			d := *e
			d.Controller, d.Object = name(d.Controller), object(d.Object)
			r.Event = &d
		case *observe.Synced:
			s := *e
			s.Controller = name(s.Controller)
			r.Event = &s
		}
		altered = append(altered, r)
	}
	return altered
}

// objectsOf returns the objects that the records name, without their UIDs.
func objectsOf(records []observe.Record) (objects []observe.Object) {
	seen := map[observe.Object]bool{}
	for _, r := range records {
		var o observe.Object
		switch e := r.Event.(type) {
		case *observe.Called:
			o = e.Object
		case *observe.Delivered:
			o = e.Object
		}
		o.UID = ""
		if o.Name != "" && !seen[o] {
			seen[o] = true
			objects = append(objects, o)
		}
	}
	return objects
}

// explain writes all that there is to say of an object. What cannot be explained has an error that says so.
func explain(records []observe.Record, about observe.Object, all bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	type writer interface {
		Write(w io.Writer, f Format, s Style) error
	}
	var answers []writer
	tree, err := Build(records, about, Options{All: all})
	if err == nil {
		answers = append(answers, tree)
	} else if !errors.Is(err, ErrNoRecords) {
		return err
	}
	for _, what := range []What{"", Created, Changed, Deleted, Refused, Failed} {
		if chain, err := Why(records, about, Options{All: all, What: what}); err == nil { // such a change is recorded
			answers = append(answers, chain)
		}
	}
	for _, answer := range answers {
		for _, format := range Formats() {
			if err := answer.Write(io.Discard, format, Style{}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Whatever the records say, and whatever they lack, each object in them can be traced and explained.
func TestAnyRecordsCanBeExplained(t *testing.T) {
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := loadJournal(t, name)
			for seed := range uint64(4) {
				random := rand.New(rand.NewPCG(seed, 0))
				altered := alterRecords(records, random)
				objects := objectsOf(altered)
				random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
				for _, about := range objects[:min(len(objects), 4)] {
					if err := explain(altered, about, seed%2 == 0); err != nil {
						t.Fatalf("seed %d, %s: %v", seed, about, err)
					}
				}
			}
		})
	}
}
