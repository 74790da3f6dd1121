package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// meet makes a client known.
func (f *fixture) meet(program string) *client {
	req := httptest.NewRequestWithContext(f.Context(), http.MethodGet, "/api/v1/pods", nil)
	req.Header.Set("User-Agent", program+"/v1")
	cl, _ := f.clients.clientOf(req, operator)
	return cl
}

// TestPauseOfAClientThatMakesRoom pauses the client that has been idle for the longest time, while new clients need room.
func TestPauseOfAClientThatMakesRoom(t *testing.T) {
	f := newFixture(t)
	i := f.clients.Interventions()
	var next int
	meetOthers := func(n int) {
		for range n {
			f.meet(fmt.Sprintf("other%d", next))
			next++
		}
	}
	for range 300 {
		f.meet("victim")
		meetOthers(maxClients - 1)
		var newcomers sync.WaitGroup
		newcomers.Go(func() { meetOthers(3) })
		_, err := i.Pause(t.Context(), []string{"victim"})
		newcomers.Wait()
		if err != nil { // it was forgotten before
			continue
		}
		if !f.meet("victim").gate.Interventions().Paused {
			t.Fatal("the pause was acknowledged and is lost")
		}
		if _, err := i.Resume(t.Context(), []string{"victim"}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeptClientsAreNotForgotten has a client kept while others need its room.
func TestKeptClientsAreNotForgotten(t *testing.T) {
	f := newFixture(t)
	kept := f.meet("kept")
	release, ok := f.clients.keep([]*client{kept})
	if !ok {
		t.Fatal("not kept")
	}
	for n := range 2 * maxClients {
		f.meet(fmt.Sprintf("first%d", n))
	}
	if f.meet("kept") != kept {
		t.Error("it was forgotten")
	}
	release()
	for n := range 2 * maxClients {
		f.meet(fmt.Sprintf("second%d", n))
	}
	if slices.Contains(f.clients.sorted(), kept) {
		t.Error("it is still known after its release")
	}
	if _, ok := f.clients.keep([]*client{kept}); ok {
		t.Error("a client that was forgotten is kept")
	}
}

// TestKeptControllersAreNotForgotten has a controller that has ended kept while others of its client need its room.
func TestKeptControllersAreNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newReportFixture(t)
		defer f.observer.Close()
		f.endedControllers("kept")
		kept := f.clients.controllerNamed("shop-operator/kept")
		release, ok := f.clients.keepControllers([]*reportedController{kept})
		if !ok || kept == nil {
			t.Fatal("not kept")
		}
		f.endedControllers(numberedNames("first", maxControllers)...)
		if f.clients.controllerNamed("shop-operator/kept") != kept {
			t.Error("it was forgotten")
		}
		release()
		f.endedControllers(numberedNames("second", maxControllers)...)
		if f.clients.controllerNamed("shop-operator/kept") != nil {
			t.Error("it is still known after its release")
		}
		if _, ok := f.clients.keepControllers([]*reportedController{kept}); ok {
			t.Error("a controller that was forgotten is kept")
		}
	})
}
