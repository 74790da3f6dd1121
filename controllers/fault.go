package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// injected is what every made-up answer says.
const injected = "made to fail by hand"

// checkFault refuses what cannot be meant.
func checkFault(f control.Fault) error {
	switch {
	case !(f.Rate >= 0 && f.Rate <= 1): // so that NaN is refused
		return usage.Errorf("rate %v: choose between 0 and 1", f.Rate)
	case !slices.Contains(control.FaultCodes, f.Code):
		return usage.Errorf("code %q: choose one of %s", f.Code, strings.Join(control.FaultCodes, ", "))
	case f.Verb != "" && !slices.Contains(rbacVerbs, f.Verb):
		return usage.Errorf("verb %q: choose one of %s", f.Verb, strings.Join(rbacVerbs, ", "))
	case f.Code == "409" && slices.Contains(rbacVerbs[:3], f.Verb):
		return usage.Errorf("verb %s: only writes meet conflicts: choose another verb or code", f.Verb)
	}
	return nil
}

// rbacVerbs are those of requests, the ones that read first.
var rbacVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// setDelay makes each call wait. Those that wait already go on doing so.
func (g *gate) setDelay(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		g.delay = d
		g.meddles.Store(g.delay > 0 || g.fault.Rate > 0)
	}
}

func (g *gate) setFault(f control.Fault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended == nil {
		g.fault = f
		g.meddles.Store(g.delay > 0 || g.fault.Rate > 0)
	}
}

// restore takes delay and fault back; calls that wait go at once.
func (g *gate) restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delay, g.fault = 0, control.Fault{}
	g.meddles.Store(false)
	close(g.lifted)
	g.lifted = make(chan struct{})
}

// linger makes a call wait as long as it has to.
func (g *gate) linger(ctx context.Context) error {
	if !g.meddles.Load() {
		return nil
	}
	g.mu.Lock()
	delay, lifted := g.delay, g.lifted
	g.mu.Unlock()
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-lifted:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// inject answers in the API server's place if the call meets a fault; nil if not.
func (g *gate) inject(req *http.Request) *http.Response {
	if !g.meddles.Load() {
		return nil
	}
	g.mu.Lock()
	f := g.fault
	g.mu.Unlock()
	if f.Rate == 0 {
		return nil
	}
	call := describe(req)
	if !meant(f, call) || g.random() >= f.Rate {
		return nil
	}
	return respond(req, failureOf(f.Code, call))
}

// meant says whether a call is among those that the fault is for.
func meant(f control.Fault, call *observe.Called) bool {
	resource := schema.GroupResource{Group: call.Object.Group, Resource: call.Object.Resource}
	return (f.Code != "409" || call.Write()) &&
		(f.Verb == "" || f.Verb == call.Verb) &&
		(f.Resource == "" || f.Resource == resource.Resource || f.Resource == resource.String())
}

func failureOf(code string, call *observe.Called) metav1.Status {
	switch code {
	case "409":
		resource := schema.GroupResource{Group: call.Object.Group, Resource: call.Object.Resource}
		return apierrors.NewConflict(resource, call.Object.Name, errors.New(injected)).Status()
	case "timeout":
		return apierrors.NewTimeoutError(injected, 0).Status()
	}
	return apierrors.NewInternalError(errors.New(injected)).Status()
}

// respond is an answer as the API server would give it.
func respond(req *http.Request, s metav1.Status) *http.Response {
	s.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	data, err := json.Marshal(s)
	if err != nil {
		panic("controllers: our own answer: " + err.Error())
	}
	return &http.Response{
		Status:        strconv.Itoa(int(s.Code)) + " " + http.StatusText(int(s.Code)),
		StatusCode:    int(s.Code),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(data)),
		ContentLength: int64(len(data)),
		Request:       req,
	}
}

// note says in a few words which hand is on the gate, and whether it is paused.
func (g *gate) note() (text string, paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var parts []string
	if g.paused {
		parts = append(parts, "its writes are held")
	}
	if g.delay > 0 {
		parts = append(parts, fmt.Sprintf("each call waits %v", g.delay))
	}
	if f := g.fault; f.Rate > 0 {
		calls := strings.Join(slices.DeleteFunc([]string{f.Verb, f.Resource, "calls"}, func(s string) bool { return s == "" }), " ")
		parts = append(parts, fmt.Sprintf("%.3g%% of its %s fail: %s", 100*f.Rate, calls, f.Code))
	}
	return strings.Join(parts, ", "), g.paused
}

// touched says whether a hand is on the gate.
func (g *gate) touched() bool {
	text, _ := g.note()
	return text != ""
}
