package health

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

const (
	refusedAPI = `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {group: example.com, version: v1, service: {name: api, namespace: wardle}}, ` +
		`status: {conditions: [{type: Available, status: "False", reason: FailedDiscoveryCheck, message: connection refused}]}}`
	newAPI       = `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.example.com}, spec: {group: example.com, version: v1, service: {name: api, namespace: wardle}}}`
	apiIsRefused = "APIService v1.example.com is not available: FailedDiscoveryCheck: connection refused: start its server, or delete the APIService"
)

// A kind that is not known may be one of an aggregated API server that starts later.
func TestRefsWaitsForAnUnavailableAPI(t *testing.T) {
	const install = "correct the name or install its CustomResourceDefinition"
	const mayServe = "an aggregated API may serve it: " + apiIsRefused
	metrics := strings.ReplaceAll(refusedAPI, "example.com", "metrics.k8s.io")
	for name, test := range map[string]struct {
		arg    string
		api    string
		served time.Duration // after which the server is there; 0 = never
		want   string        // the error
		took   time.Duration
	}{
		"it starts":                {arg: "Widget.example.com/w", api: refusedAPI, served: 10 * time.Second, took: 10 * time.Second},
		"with a version":           {arg: "widgets.v1.example.com/w", api: refusedAPI, served: 10 * time.Second, took: 10 * time.Second},
		"it is new":                {arg: "widgets.example.com/w", api: newAPI, want: "widgets.example.com/w: unknown kind widgets.example.com: timed out after 30s: an aggregated API may serve it: APIService v1.example.com is not checked yet", took: 30 * time.Second},
		"it does not start":        {arg: "widgets.example.com/w", api: refusedAPI, want: "widgets.example.com/w: unknown kind widgets.example.com: timed out after 30s: " + mayServe, took: 30 * time.Second},
		"like that of another":     {arg: "deployments.example.com/w", api: refusedAPI, want: "deployments.example.com/w: unknown kind deployments.example.com: timed out after 30s: " + mayServe, took: 30 * time.Second},
		"of another group":         {arg: "widgets.example.org/w", api: refusedAPI, want: "widgets.example.org/w: unknown kind widgets.example.org: " + install, took: newKindGrace},
		"of a part of the group":   {arg: "ingreses.k8s.io/w", api: metrics, want: "ingreses.k8s.io/w: unknown kind ingreses.k8s.io: did you mean \"ingress\"?", took: newKindGrace},
		"without a group":          {arg: "widget/w", api: refusedAPI, want: "widget/w: unknown kind widget: " + install + "; " + mayServe, took: newKindGrace},
		"it does not have metrics": {arg: "widget/w", api: metrics, want: "widget/w: unknown kind widget: " + install, took: newKindGrace},
		"a typing error":           {arg: "deploymnt/web", api: refusedAPI, want: `deploymnt/web: unknown kind deploymnt: did you mean "deployment"?`, took: newKindGrace},
		"it is available":          {arg: "widgets.example.com/w", api: strings.Replace(refusedAPI, `status: "False"`, `status: "True"`, 1), want: "widgets.example.com/w: unknown kind widgets.example.com: " + install, took: newKindGrace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, test.api)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, errors.New("timed out after 30s"))
				defer cancel()
				began := time.Now()
				c.kinds.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) {
					if test.served > 0 && time.Since(began) >= test.served {
						c.serve("example.com/v1", "widgets", "Widget", true)
						test.served = 0
					}
					return false, nil, nil
				})
				refs, err := c.Refs(ctx, "shop", []string{test.arg})
				if got := fmt.Sprint(err); got != test.want && (test.want != "" || err != nil) {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
				if err == nil && !cmp.Equal(refs, []Ref{wid}) {
					t.Errorf("got %v", refs)
				}
				if took := time.Since(began); took < test.took || took > test.took+2*time.Second {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
}

// A user interrupts a wait for a kind: the answer to why it is not served may take seconds.
func TestRefsEndsWithAnInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, refusedAPI)
		ctx, interrupt := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { interrupt(errors.New("interrupted")) })
		began := time.Now()
		_, err := c.Refs(ctx, "shop", []string{"widgets.example.com/w"})
		if got := fmt.Sprint(err); got != "widgets.example.com/w: unknown kind widgets.example.com: interrupted" || time.Since(began) > 11*time.Second {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
	})
}

func TestAfterDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-late.Done()
		after, end := afterDeadline(late)
		defer end()
		if synctest.Wait(); after.Err() != nil {
			t.Errorf("after a deadline: %v", after.Err())
		}
		interrupted, interrupt := context.WithCancel(t.Context())
		after, end = afterDeadline(interrupted)
		defer end()
		interrupt()
		if synctest.Wait(); after.Err() == nil {
			t.Error("it does not end with an interrupt")
		}
	})
}

// Objects of an API whose server is not available: a listing and a wait name the APIService.
func TestUnavailableAPIIsNamed(t *testing.T) {
	c := newCluster(t, refusedAPI)
	if _, err := c.List(t.Context(), "widgets"); err == nil || err.Error() != `unknown kind "widgets": use a name that kubectl accepts, such as pods or deploy; an aggregated API may serve it: `+apiIsRefused {
		t.Errorf("an unknown kind: got %v", err)
	}
	c.serve("example.com/v1", "widgets", "Widget", true)
	c.objects.PrependReactor("list", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("unable to handle the request")
	})
	if _, err := c.List(t.Context(), "widgets"); err == nil || err.Error() != "list widgets: unable to handle the request: "+apiIsRefused {
		t.Errorf("a listing: got %v", err)
	}
	c.objects.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("pods is forbidden")
	})
	if _, err := c.List(t.Context(), "pods"); err == nil || err.Error() != "list pods: pods is forbidden" {
		t.Errorf("a listing of the core group: got %v", err)
	}
	lost := fmt.Errorf("health: Widget w: %w", apierrors.NewServiceUnavailable("unable to handle the request"))
	if got := c.Unreadable(t.Context(), "example.com", lost); got != "Its current state cannot be read: "+apiIsRefused+"." {
		t.Errorf("got %s", got)
	}
	if got := c.Unreadable(t.Context(), "apps", lost); got != "" {
		t.Errorf("got %s", got)
	}
	if got := c.Unreadable(t.Context(), "", lost); got != "" {
		t.Errorf("the core group: got %s", got)
	}
	for ref, want := range map[Ref]string{wid: "unable to handle the request; " + apiIsRefused, {GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespace: "shop", Name: "p"}: "pods is forbidden"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := c.Wait(ctx, []Ref{ref}, Options{})
		bad, ok := errors.AsType[*NotHealthyError](err)
		if !ok || len(bad.Objects) != 1 || bad.Objects[0].Reason != want {
			t.Errorf("a wait for %v: got %+v", ref, err)
		}
		cancel()
	}
}

// Of an API that counts as available, only what says so is that its server does not answer.
func TestUnreadable(t *testing.T) {
	c := newCluster(t, strings.Replace(refusedAPI, `status: "False"`, `status: "True"`, 1))
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	get := func(at string) error { return &url.Error{Op: "Get", URL: at, Err: errors.New("EOF")} }
	const cannot, doesNot = "Its current state cannot be read: ", "the server of APIService v1.example.com does not answer: "
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"not available":        {apierrors.NewServiceUnavailable("unable to handle the request"), cannot + doesNot + "unable to handle the request."},
		"a timeout":            {apierrors.NewTimeoutError("request did not complete", 1), cannot + doesNot + "Timeout: request did not complete."},
		"too many requests":    {apierrors.NewTooManyRequests("try again", 1), cannot + doesNot + "try again."},
		"the network":          {get("https://localhost/apis/example.com/v1/widgets/w"), cannot + doesNot + "EOF."},
		"of another API":       {get("https://localhost/api/v1/pods/w"), cannot + "no answer from the API server: EOF."},
		"forbidden":            {apierrors.NewForbidden(widgets, "w", errors.New("not you")), cannot + `widgets.example.com "w" is forbidden: not you.`},
		"the end of a request": {context.DeadlineExceeded, cannot + "context deadline exceeded."},
		"an unknown kind":      {fmt.Errorf("twice: %w", &meta.NoKindMatchError{}), ""},
	} {
		if got := c.Unreadable(t.Context(), "example.com", fmt.Errorf("health: Widget w: %w", test.err)); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, test.want)
		}
	}
}

// Several versions of an API have one server: their reason is said once, without its URL.
func TestUnavailableVersionsAreNamedTogether(t *testing.T) {
	const check = `failing or missing response from https://localhost:1/apis/example.com/v1: Get \"https://localhost:1/apis/example.com/v1\": dial tcp 127.0.0.1:1: connect: connection refused`
	v1 := strings.Replace(refusedAPI, "message: connection refused", `message: "`+check+`"`, 1)
	c := newCluster(t, v1, strings.NewReplacer("name: v1.", "name: v2.", "version: v1", "version: v2", "example.com/v1", "example.com/v2").Replace(v1), strings.ReplaceAll(refusedAPI, "example.com", "example.org"))
	want := []string{"APIServices v1.example.com and v2.example.com are not available: FailedDiscoveryCheck: dial tcp 127.0.0.1:1: connect: connection refused",
		"APIService v1.example.org is not available: FailedDiscoveryCheck: connection refused"}
	if diff := cmp.Diff(want, c.UnavailableAPIs(t.Context())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := adviseOnAPIs(want); !strings.HasSuffix(got, ": start their servers, or delete the APIServices") {
		t.Errorf("got %s", got)
	}
	if got := adviseOnAPIs(want[:1]); !strings.HasSuffix(got, ": start their server, or delete the APIServices") {
		t.Errorf("got %s", got)
	}
}

// While an APIService names a Service, the namespace controller waits before it deletes anything.
func TestNamespaceWaitsForAnAggregatedServer(t *testing.T) {
	const notReported = "being deleted; the namespace controller has not reported the remaining content yet"
	const waits = ": it waits 5 s, as APIService v1.example.com names a Service, whose server may still admit writes"
	for name, test := range map[string]struct {
		ago  time.Duration
		apis []string
		want string
	}{
		"just deleted":         {time.Second, []string{refusedAPI}, notReported + waits},
		"deleted before":       {time.Minute, []string{refusedAPI}, notReported},
		"no aggregated server": {time.Second, nil, notReported},
	} {
		ns := parseObject(t, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: %q}, spec: {finalizers: [kubernetes]}}`, time.Now().Add(-test.ago).UTC().Format(time.RFC3339)))
		if got := newCluster(t, test.apis...).Why(t.Context(), ns); got != test.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// The deletion of what an aggregated API server stores may fail because the types of that have no protobuf.
func TestWhyNamesTheServerWithoutProtobuf(t *testing.T) {
	const message = "Failed to delete all resource types, 1 remaining: object *v1.WidgetList does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
	const namespace = `{apiVersion: v1, kind: Namespace, metadata: {name: shop, deletionTimestamp: "2026-01-02T03:04:05Z"}, spec: {finalizers: [kubernetes]}, ` +
		`status: {phase: Terminating, conditions: [{type: NamespaceDeletionContentFailure, status: "True", reason: ContentDeletionFailed, message: '` + message + `'}]}}`
	c := newCluster(t, namespace, strings.Replace(refusedAPI, `status: "False"`, `status: "True"`, 1),
		`{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, finalizers: [x.io/f]}}`)
	c.serve("example.com/v1", "widgets", "Widget", true)
	const want = "being deleted: " + message + "; the server of APIService v1.example.com does not answer deletions of widgets in protobuf, in which the namespace controller asks; remaining: Widget w (finalizer x.io/f)"
	if got := c.Why(t.Context(), parseObject(t, namespace)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
