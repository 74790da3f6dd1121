package clients

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
)

// nestedFixture is an operator whose client and whose controller can be paused.
type nestedFixture struct {
	*fixture
	client, controller control.Interventions
	write              func() (done chan struct{})
}

const nestedClient, nestedController = "shop-operator", "shop-operator/site"

func newNestedFixture(t *testing.T) *nestedFixture {
	f := newReportFixture(t)
	f.report(Report{Session: "s", Number: 1, Controllers: []QueueReport{siteQueue()}})
	return &nestedFixture{f, f.clients.Interventions(), f.clients.ControllerInterventions(&ownControllers{}, func(string) bool { return false }),
		func() chan struct{} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				f.send(call{http.MethodPost, deployments, operatorAgent, operator, map[string]string{SyncHeader: "s/site/1"}, 201, object("Deployment", "shop", "u2", "8")})
			}()
			return done
		}}
}

// soon fails the test if what it is for does not end.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func (f *nestedFixture) pause(i control.Interventions, name string) {
	f.Helper()
	if _, err := i.Pause(soon(f.T), []string{name}); err != nil {
		f.Fatal(err)
	}
}

// awaitHeld returns when a write is held in the name of i.
func (f *nestedFixture) awaitHeld(i control.Interventions, name string) {
	f.Helper()
	for ctx := soon(f.T); ; {
		list, err := i.HeldWrites(ctx, name, 1)
		if err != nil || ctx.Err() != nil {
			f.Fatalf("no write is held: %v", err)
		}
		if list.Total == 1 {
			return
		}
		runtime.Gosched()
	}
}

// A write of a paused controller of a paused client is performed by a step of either.
func TestStepOfNestedPauses(t *testing.T) {
	for _, byClient := range []bool{true, false} {
		f := newNestedFixture(t)
		i, name, other, otherName := f.controller, nestedController, f.client, nestedClient
		if byClient {
			i, name, other, otherName = other, otherName, i, name
		}
		f.pause(f.client, nestedClient)
		f.pause(f.controller, nestedController)
		done := f.write()
		f.awaitHeld(i, name)
		f.awaitHeld(other, otherName)
		if step, err := i.StepHeld(soon(t), name); err != nil || step == nil || step.Status != http.StatusCreated {
			t.Fatalf("by client %v: step: %+v, %v", byClient, step, err)
		}
		<-done
		if step, err := i.StepHeld(soon(t), name); err != nil || step != nil {
			t.Errorf("by client %v: without a held write: %+v, %v", byClient, step, err)
		}
	}
}

// A write that one holds does not keep the other one from being paused, and proceeds when
// both are resumed.
func TestResumeOfNestedPauses(t *testing.T) {
	for _, clientFirst := range []bool{true, false} {
		f := newNestedFixture(t)
		i, name, other, otherName := f.controller, nestedController, f.client, nestedClient
		if clientFirst {
			i, name, other, otherName = other, otherName, i, name
		}
		f.pause(i, name)
		done := f.write()
		f.awaitHeld(i, name)
		f.pause(other, otherName)
		f.awaitHeld(other, otherName)
		if _, err := i.Resume(t.Context(), []string{name}); err != nil {
			t.Fatal(err)
		}
		f.awaitHeld(other, otherName)
		if list, err := i.HeldWrites(t.Context(), name, 1); err != nil || list.Total != 1 || list.Paused {
			t.Errorf("of the resumed one: %+v, %v", list, err)
		}
		select {
		case <-done:
			t.Errorf("client first %v: the write passed a pause", clientFirst)
		default:
		}
		if c := f.clients.Snapshot()[0]; c.Writing != 1 || c.Held != 1 {
			t.Errorf("%d writes, %d held", c.Writing, c.Held)
		}
		if _, err := other.Resume(t.Context(), []string{otherName}); err != nil {
			t.Fatal(err)
		}
		<-done
	}
}
