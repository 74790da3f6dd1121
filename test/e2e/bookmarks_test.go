package e2e_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// A watch that allows bookmarks receives the current revision although nothing
// changes; otherwise the client's revision would be compacted at some time.
func TestBookmarks(t *testing.T) {
	t.Parallel()
	templates := controlPlane.client.CoreV1().PodTemplates(createNamespace(t))
	now, err := templates.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	open := func(allow bool) watch.Interface {
		w, err := templates.Watch(t.Context(), metav1.ListOptions{ResourceVersion: now.ResourceVersion, AllowWatchBookmarks: allow})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		return w
	}
	without, with := open(false), open(true)
	select {
	case e := <-with.ResultChan():
		if e.Type != watch.Bookmark {
			t.Errorf("got %+v", e)
		}
	case <-time.After(waitTimeout):
		t.Errorf("no bookmark within %v", waitTimeout)
	}
	select {
	case e := <-without.ResultChan():
		t.Errorf("without bookmarks: got %+v", e)
	default:
	}
}
