package objectclients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func TestAt(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked = append(asked, req.URL.RequestURI())
		items := `{"metadata":{"name":"a","namespace":"shop"}}`
		if strings.Contains(req.URL.RawQuery, "gone") {
			items = ""
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","items":[%s]}`, items)
	}))
	defer server.Close()
	clients, err := New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	pods := At(clients.Objects, "7").Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	if u, err := pods.Namespace("shop").Get(t.Context(), "a", metav1.GetOptions{}); err != nil || u.GetName() != "a" || u.GetKind() != "Pod" {
		t.Errorf("got %v, %v", u, err)
	}
	if _, err := pods.Namespace("shop").Get(t.Context(), "gone", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	for _, more := range []string{"", "more"} {
		if list, err := pods.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: more}); err != nil || len(list.Items) != 1 {
			t.Errorf("got %v, %v", list, err)
		}
	}
	want := strings.Join([]string{
		"/api/v1/namespaces/shop/pods?fieldSelector=metadata.name%3Da&resourceVersion=7&resourceVersionMatch=Exact",
		"/api/v1/namespaces/shop/pods?fieldSelector=metadata.name%3Dgone&resourceVersion=7&resourceVersionMatch=Exact",
		"/api/v1/pods?limit=1&resourceVersion=7&resourceVersionMatch=Exact",
		"/api/v1/pods?continue=more&limit=1",
	}, "\n")
	if got := strings.Join(asked, "\n"); got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}
