package instrument

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// addController adds a controller of ConfigMaps, except those with some names, to an
// operator that is not started.
func (o *operator) addController(do reconcile.Func, ignored ...string) {
	o.Helper()
	filter := predicate.NewPredicateFuncs(func(obj client.Object) bool { return !slices.Contains(ignored, obj.GetName()) })
	if err := ctrl.NewControllerManagedBy(o.Manager).For(&corev1.ConfigMap{}, builder.WithPredicates(filter)).Complete(do); err != nil {
		o.Fatal(err)
	}
}

// A sync is reported with the event whose handler added its key, and its calls name it:
// those of the manager's client, and those of others even without the context.
func TestCauseAndCalls(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	o.addController(func(ctx context.Context, key ctrl.Request) (ctrl.Result, error) {
		if key.Name != "shop" {
			return ctrl.Result{}, nil
		}
		own, err := kubernetes.NewForConfig(o.GetConfig())
		if err != nil {
			return ctrl.Result{}, err
		}
		_, byOther := own.CoreV1().Secrets("ns").Create(context.Background(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
		return ctrl.Result{}, errors.Join(byOther, o.GetClient().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "made"}}))
	}, "ignored")
	o.start(1)
	p.await("the operator is known", func() bool { return len(p.reports) > 0 })
	awaitTrue(t, o.reporter().isOn)
	old, shop := configMap("ignored", "2"), configMap("shop", "7")
	now := metav1.Now()
	shop.DeletionTimestamp = &now
	o.informer.Add(old)
	o.informer.Update(configMap("shop", "6"), shop)
	var s *endedRecord
	p.await("shop is synced", func() bool {
		i := slices.IndexFunc(p.ended("configmap"), func(e *endedRecord) bool { return e.Key == "ns/shop" })
		if i >= 0 {
			s = p.ended("configmap")[i]
		}
		return i >= 0
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.event(s.Event)
	if e == nil || e.Change != "updated" || e.Name != "shop" || e.ResourceVersion != "7" || e.Resource != "configmaps" || e.Kind != "ConfigMap" || !e.Deleting || !slices.Equal(e.Adds, []uint64{s.Add}) {
		t.Errorf("the cause of %+v is %+v", s, e)
	}
	if s.Unsure || s.Sync != 0 || s.Requeued || s.Error != "" || s.Took <= 0 || s.Waited < 0 {
		t.Errorf("%+v", s)
	}
	want := fmt.Sprintf("%s/configmap/%d", p.reports[0].Session, s.ID)
	for _, path := range []string{"/api/v1/namespaces/ns/configmaps", "/api/v1/namespaces/ns/secrets"} {
		if got := p.syncs[path]; got != want {
			t.Errorf("%s is of sync %q, want %q", path, got, want)
		}
	}
	if i := slices.IndexFunc(p.records(), func(r record) bool { return r.Event != nil && r.Event.Name == "ignored" && len(r.Event.Adds) == 0 }); i < 0 {
		t.Error("the event that a predicate ignores is not reported")
	}
	last := p.reports[len(p.reports)-1].Controllers
	if len(last) != 1 || last[0].Name != "configmap" || last[0].Workers != 1 || last[0].Gets != 1 {
		t.Errorf("the controllers are %+v", last)
	}
}

// A request that a sync makes with the client of another manager names the sync if that is for the same
// control plane, user agent and credentials: the control plane knows the sync as one of its client.
func TestCallOfOtherManager(t *testing.T) {
	for name, test := range map[string]struct {
		change    func(*rest.Config)
		elsewhere bool // with another control plane
		named     bool
	}{
		"the same":           {change: func(*rest.Config) {}, named: true},
		"another plane":      {change: func(*rest.Config) {}, elsewhere: true},
		"another user agent": {change: func(cfg *rest.Config) { cfg.UserAgent = "site/v1" }},
		"another token":      {change: func(cfg *rest.Config) { cfg.BearerToken = "another" }},
		"another user":       {change: func(cfg *rest.Config) { cfg.Impersonate.UserName = "agent" }},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlane(t, http.StatusOK)
			far := p
			if test.elsewhere {
				far = startPlane(t, http.StatusOK)
			}
			testCallOfOtherManager(t, p, far, test.change, test.named)
		})
	}
}

func testCallOfOtherManager(t *testing.T, p, far *plane, change func(*rest.Config), named bool) {
	o := newOperator(t, p.url)
	cfg := rest.CopyConfig(o.Manager.(*observedManager).Manager.GetConfig())
	cfg.Host = far.url
	change(cfg)
	other := newOperatorOf(t, cfg)
	o.addController(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		return ctrl.Result{}, other.GetClient().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "made"}})
	})
	other.start(0)
	awaitTrue(t, other.reporter().isOn)
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	const path = "/api/v1/namespaces/ns/configmaps"
	far.await("the write", func() bool { _, wrote := far.syncs[path]; return wrote })
	far.mu.Lock()
	defer far.mu.Unlock()
	want := ""
	if named {
		want = o.reporter().session + "/configmap/1"
	}
	if got := far.syncs[path]; got != want {
		t.Errorf("the write is of sync %q, want %q", got, want)
	}
}

type codeError struct{ code int }

func (e *codeError) Error() string { return fmt.Sprint("code ", e.code) }

// An error that is a nil pointer is a failure for controller-runtime, and does not make the sync panic.
func TestNilPointerAsError(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url, func(o *ctrl.Options) { o.Logger = logr.Discard() }) // such as zap, which survives it, too
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		var none *codeError
		return ctrl.Result{}, none
	})
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	p.await("a sync", func() bool { return len(p.ended("configmap")) > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.ended("configmap")[0]; s.Error != "<nil>" || !s.Requeued {
		t.Errorf("%+v, want the error <nil>", s)
	}
}

// A key that a sync requeues is that sync's, with the time when it is due.
func TestRequeue(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	var called atomic.Int64
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		switch called.Add(1) {
		case 1:
			return ctrl.Result{RequeueAfter: 20 * time.Millisecond}, nil
		case 2:
			return ctrl.Result{}, errors.New("no luck")
		}
		return ctrl.Result{}, nil
	})
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	var list []*endedRecord
	p.await("three syncs", func() bool { list = p.ended("configmap"); return len(list) >= 3 })
	first, second, third := list[0], list[1], list[2]
	if first.Event == 0 || first.Add != 1 || !first.Requeued || first.Due.Sub(first.Time) < 20*time.Millisecond {
		t.Errorf("the first sync: %+v", first)
	}
	if second.Sync != first.ID || second.Add != 2 || second.Event != 0 || second.Error != "no luck" || !second.Requeued || second.Due.Before(second.Time) {
		t.Errorf("the second sync: %+v", second)
	}
	if third.Sync != second.ID || third.Add != 3 || third.Error != "" || third.Requeued || third.Unsure || third.Time.Before(second.Due) {
		t.Errorf("the third sync: %+v", third)
	}
}

// A sync that fails is repeated, also if an event has added its key meanwhile. What queued
// the next sync is that event.
func TestRequeueBehindEvent(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	var called atomic.Int64
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		if called.Add(1) == 1 {
			o.informer.Add(configMap("shop", "2"))
			return ctrl.Result{}, errors.New("no luck")
		}
		return ctrl.Result{}, nil
	})
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	p.await("two syncs", func() bool { return len(p.ended("configmap")) >= 2 })
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.ended("configmap")
	if first, second := list[0], list[1]; !first.Requeued || first.Due.IsZero() || second.Sync != 0 || p.event(second.Event).ResourceVersion != "2" {
		t.Errorf("the first sync: %+v; the second: %+v", first, second)
	}
}

// Another server is asked once, nothing is added to requests, and what could not be reported is not logged.
func TestOtherServer(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusUnauthorized} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			p := startPlane(t, status)
			p.other = true
			o := newOperator(t, p.url)
			r := o.reporter()
			o.addControllerOfStrings()
			o.addController(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
				return ctrl.Result{}, o.GetClient().Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "made"}})
			})
			o.start(1)
			o.informer.Add(configMap("shop", "1"))
			p.await("a write and a question", func() bool { _, wrote := p.syncs["/api/v1/namespaces/ns/configmaps"]; return wrote && p.asked > 0 })
			o.informer.Add(configMap("late", "2"))
			awaitTrue(t, r.isOff)
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.asked != 1 || p.syncs["/api/v1/namespaces/ns/configmaps"] != "" {
				t.Errorf("asked %d times, the write is of %q", p.asked, p.syncs)
			}
			awaitTrue(t, func() bool { // they are dropped right after it is off
				r.mu.Lock()
				defer r.mu.Unlock()
				return len(r.records)+len(r.unlogged) == 0
			})
			select {
			case text := <-o.logged:
				t.Errorf("logged: %s", text)
			default:
			}
		})
	}
}

// An operator whose control plane does not answer works, and what finds no room is counted.
func TestUnavailable(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	o.start(1)
	o.informer.Add(configMap("shop", "1"))
	p.await("reports", func() bool { return len(p.ended("configmap")) > 0 })
	p.setStatus(http.StatusServiceUnavailable)
	asked := func() int { p.mu.Lock(); defer p.mu.Unlock(); return p.asked }()
	for range 2 * maxRecords {
		o.informer.Add(configMap("shop", "2"))
	}
	p.await("a report fails", func() bool { return p.asked > asked })
	r := o.reporter()
	r.mu.Lock()
	if n := len(r.records); n > maxRecords {
		t.Errorf("%d records are kept", n)
	}
	r.mu.Unlock()
	p.setStatus(http.StatusOK)
	p.await("the drops are said", func() bool { return p.reports[len(p.reports)-1].Dropped > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	numbers := map[uint64]bool{}
	for _, r := range p.reports {
		if numbers[r.Number] {
			t.Errorf("report %d was taken twice", r.Number)
		}
		numbers[r.Number] = true
	}
}

// The last report says that the process ends.
func TestEnd(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	close(o.filled)
	stop := o.run(o.Manager)
	p.await("reports", func() bool { return len(p.reports) > 0 })
	awaitTrue(t, o.reporter().isOn)
	stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reports[len(p.reports)-1].Ended {
		t.Error("the last report does not say that it is the last")
	}
}

// Two controllers of one name, as SkipNameValidation allows, are reported as one: their syncs and
// adds have different numbers.
func TestControllersOfOneName(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	for range 2 {
		o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	}
	o.start(2)
	o.informer.Add(configMap("shop", "1"))
	var last []controllerReport
	p.await("both have synced", func() bool {
		if len(p.reports) == 0 {
			return false
		}
		last = p.reports[len(p.reports)-1].Controllers
		return len(p.ended("configmap")) == 2 && len(last) == 1 && last[0].Done == 2
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	syncs := p.ended("configmap")
	if syncs[0].ID == syncs[1].ID || syncs[0].Add == syncs[1].Add || syncs[0].Event == syncs[1].Event {
		t.Errorf("%+v and %+v have the same numbers", syncs[0], syncs[1])
	}
	if c := last[0]; c.Name != "configmap" || c.Workers != 2 || c.Adds != 2 || c.Gets != 2 || c.State != "" {
		t.Errorf("the controller of both: %+v", c)
	}
}

// The control plane refuses a report with more controllers than these: the others are not reported.
func TestTooManyControllers(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	for i := range maxControllers + 1 {
		do := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
		if err := ctrl.NewControllerManagedBy(o.Manager).Named(fmt.Sprint("c", i)).For(&corev1.ConfigMap{}).Complete(do); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.reporter().send(t.Context(), false); err != nil || len(p.reports[1].Controllers) != maxControllers {
		t.Errorf("%v: %d controllers are reported", err, len(p.reports[1].Controllers))
	}
	if text := <-o.logged; !strings.Contains(text, "a controller is not reported") || !strings.Contains(text, `"c64\"`) {
		t.Errorf("logged: %s", text)
	}
}

// The control plane refuses a report with such a name: the other controllers are reported, and the log
// says which one is not.
func TestUnreportableName(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	do := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	longest := strings.Repeat("é", maxName/2)
	for _, name := range []string{"two words", longest, longest + "x", "tab\tin it", " outer", "\xff"} {
		if err := ctrl.NewControllerManagedBy(o.Manager).Named(name).For(&corev1.ConfigMap{}).Complete(do); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.reporter().send(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{longest + "…", `tab\\tin it`, " outer", `\\xff`} {
		select {
		case text := <-o.logged:
			if !strings.Contains(text, "a controller is not reported") || !strings.Contains(text, name) {
				t.Errorf("logged: %s, want %s", text, name)
			}
		default:
			t.Errorf("that %s is not reported is not logged", name)
		}
	}
	if got := p.reports[1].Controllers; len(got) != 2 || got[0].Name != "two words" || got[1].Name != longest {
		t.Errorf("reported: %+v", got)
	}
}

// A controller with requests of its own type works, and the log says that it is not
// reported.
func TestOtherRequests(t *testing.T) {
	p := startPlane(t, http.StatusOK)
	o := newOperator(t, p.url)
	o.addControllerOfStrings()
	o.start(0)
	p.await("reports", func() bool { return len(p.reports) > 0 })
	expect := func() {
		t.Helper()
		if text := <-o.logged; !strings.Contains(text, "a controller is not reported") || !strings.Contains(text, "type of its own") {
			t.Errorf("logged: %s", text)
		}
	}
	expect()
	o.addControllerOfStrings() // it is known that this is ctrlplane
	expect()
}

// addControllerOfStrings adds a controller whose requests are strings.
func (o *operator) addControllerOfStrings() {
	o.Helper()
	_, err := ctrlcontroller.NewTyped("strings", o.Manager, ctrlcontroller.TypedOptions[string]{
		Reconciler: reconcile.TypedFunc[string](func(context.Context, string) (ctrl.Result, error) { return ctrl.Result{}, nil }),
	})
	if err != nil {
		o.Fatal(err)
	}
}

// A token may become valid after the operator has started.
func TestTokenThatIsNotValidYet(t *testing.T) {
	p := startPlane(t, http.StatusUnauthorized)
	o := newOperator(t, p.url)
	o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	o.start(1)
	p.await("the question", func() bool { return p.asked > 0 })
	p.setStatus(http.StatusOK)
	o.informer.Add(configMap("shop", "1"))
	p.await("a sync", func() bool { return len(p.ended("configmap")) == 1 })
}

// A delayed add of a key that is synced because of an event, too, remains in client-go's queue and not in
// controller-runtime's own one.
func TestDelayedAddsOfEachKindOfQueue(t *testing.T) {
	for _, isOwn := range []bool{true, false} {
		t.Run(fmt.Sprint("own ", isOwn), func(t *testing.T) {
			p := startPlane(t, http.StatusOK)
			o := newOperator(t, p.url, func(options *ctrl.Options) { options.Controller.UsePriorityQueue = &isOwn })
			var called atomic.Int64
			o.addController(func(context.Context, ctrl.Request) (ctrl.Result, error) {
				if called.Add(1) == 1 {
					return ctrl.Result{RequeueAfter: time.Hour}, nil
				}
				return ctrl.Result{}, nil
			})
			o.start(1)
			o.informer.Add(configMap("shop", "1"))
			p.await("the first sync", func() bool { return len(p.ended("configmap")) == 1 })
			o.informer.Update(configMap("shop", "1"), configMap("shop", "2"))
			p.await("the second sync", func() bool { return len(p.ended("configmap")) == 2 })
			p.mu.Lock()
			defer p.mu.Unlock()
			c := p.reports[len(p.reports)-1].Controllers[0]
			if c.Delayed == 0 != isOwn || c.NextDue.IsZero() != isOwn {
				t.Errorf("%+v", c)
			}
		})
	}
}

// The fields that are changed exist in this version of controller-runtime, and what else a
// manager asks of a controller is passed on.
func TestObservedRunnable(t *testing.T) {
	o := newOperator(t, "http://localhost:1")
	no, yes := false, true
	c, err := ctrlcontroller.NewUnmanaged("free", ctrlcontroller.Options{
		Reconciler: reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil }), NeedLeaderElection: &no, MaxConcurrentReconciles: 3, SkipNameValidation: &yes,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := o.reporter()
	observed, err := observeController(r, c)
	if err != nil {
		t.Fatal(err)
	}
	if got := observed.(*observedRunnable); got.NeedLeaderElection() || got.controller.name != "free" || got.controller.workers != 3 {
		t.Errorf("%+v", got.controller)
	}
	if same, err := observeController(r, r); same != r || err != nil {
		t.Errorf("a Runnable that is no controller: %v, %v", same, err)
	}
}

func (o *operator) reporter() *reporter { return o.Manager.(*observedManager).reporter }

// awaitTrue waits for what no request shows.
func awaitTrue(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(20 * time.Second); !is(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited 20 s")
		}
	}
}

func TestGoroutineID(t *testing.T) {
	mine, other := goroutineID(), make(chan uint64)
	go func() { other <- goroutineID() }()
	if theirs := <-other; mine == 0 || theirs == 0 || mine == theirs || goroutineID() != mine {
		t.Errorf("goroutines %d and %d", mine, theirs)
	}
}
