package learn

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// An operator may start again, or be suspended, while a lesson removes those that have ended: it is not of the lesson.
func TestRemoveOperatorThatStarts(t *testing.T) {
	list := []control.Controller{
		{Name: "shop/site", State: observe.StateOff, Gone: observe.GoneEnded},
		{Name: "shop/page", State: observe.StateOff, Gone: observe.GoneSilent},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any = control.ControllerList{Items: list}
		if r.Method == http.MethodPost {
			var removed struct{ Names []string }
			if err := json.NewDecoder(r.Body).Decode(&removed); err != nil || len(removed.Names) != 1 || removed.Names[0] != "shop/site" {
				t.Errorf("removes %q, %v", removed.Names, err)
			}
			list = nil // as if both were removed by another one next
			w.WriteHeader(http.StatusBadRequest)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "its process runs", Code: http.StatusBadRequest}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client, err := controlrest.NewClient(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&controlPlane{control: client}).removeOperators(t.Context(), &initialState{}); err != nil {
		t.Error(err)
	}
}
