package health

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// listedPods are a Pod that has failed, one that is not ready and one that is healthy.
const listedPods = `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[
{"metadata":{"name":"ok","namespace":"b","uid":"1","creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}},
{"metadata":{"name":"wait","namespace":"a"},"spec":{},"status":{"phase":"Pending"}},
{"metadata":{"name":"bad","namespace":"c"},"status":{"phase":"Failed"}}]}`

func TestListSortsByHealth(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch answer, ok := discoveryAnswers[r.URL.Path]; {
		case ok:
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
		case r.URL.Path == "/api/v1/pods":
			fmt.Fprint(w, listedPods)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	w, err := New(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.List(t.Context(), "po")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range l.Items {
		got = append(got, item.Object.Key()+" "+string(item.Health))
	}
	if want := "c/bad Failed, a/wait InProgress, b/ok Current"; strings.Join(got, ", ") != want || l.Kind != "Pod" || l.Items[0].Object.Resource != "pods" {
		t.Errorf("%s %s: %v, want %s", l.Kind, l.Items[0].Object.Resource, got, want)
	}
	for _, item := range l.Items {
		if item.Reason == "" {
			t.Errorf("%s: no reason", item.Object)
		}
	}
	for kind, want := range map[string]string{
		"podz":   `unknown kind "podz": did you mean "pod"?`,
		"nosuch": `unknown kind "nosuch": use a name that kubectl accepts, such as pods or deploy`,
	} {
		if _, err := w.List(t.Context(), kind); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// podPages returns a Waiter for a server with pages of healthy Pods, of which the last one has failed.
func podPages(t *testing.T, total int) *Waiter {
	t.Helper()
	return podPagesUntil(t, total, func() bool { return false })
}

// podPagesUntil is like podPages, but the server does not answer from the page on for which ended returns true.
func podPagesUntil(t *testing.T, total int, ended func() bool) *Waiter {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if answer, ok := discoveryAnswers[r.URL.Path]; ok {
			if err := json.NewEncoder(w).Encode(answer); err != nil {
				t.Error(err)
			}
			return
		}
		if r.URL.Path != "/api/v1/pods" {
			http.NotFound(w, r)
			return
		}
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none begins with 0
		if from > 0 && ended() {
			<-r.Context().Done()
			return
		}
		next, to := "", min(from+limit, total)
		if to < total {
			next = strconv.Itoa(to)
		}
		var items []string
		for i := from; i < to; i++ {
			status := `{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
			if i == total-1 {
				status = `{"phase":"Failed"}`
			}
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"p%06d","namespace":"a"},"status":%s}`, i, status))
		}
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
	}))
	t.Cleanup(srv.Close)
	w, err := New(&rest.Config{Host: srv.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Of many objects those are listed that are not healthy, wherever they are; there is a limit to how many are examined.
func TestListOfManyObjects(t *testing.T) {
	l, err := podPages(t, maxListed+1000).List(t.Context(), "po")
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Items) != maxListed || l.Total != maxListed+1000 || l.Healthy != l.Total-1 || l.More || l.Items[0].Health != Failed || l.Items[1].Object.Name != "p000000" {
		t.Errorf("%d items, %d of %d healthy, more %t, first %+v", len(l.Items), l.Healthy, l.Total, l.More, l.Items[:2])
	}
	l, err = podPages(t, maxExamined+1).List(t.Context(), "po")
	if err != nil || len(l.Items) != maxListed || l.Total != maxExamined || l.Healthy != maxExamined || !l.More {
		t.Errorf("%d items, %d of %d healthy, more %t, %v", len(l.Items), l.Healthy, l.Total, l.More, err)
	}
}

// What was listed until the time is over is returned.
func TestListInTime(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := podPagesUntil(t, maxListed+1, func() bool { cancel(); return true }).List(ctx, "po")
	if err != nil || l.Total != maxListed || !l.More {
		t.Errorf("%d objects, more %t, %v", l.Total, l.More, err)
	}
}
