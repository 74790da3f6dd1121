package rest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// newRecordsHandler serves the records of an observer with two calls of the deployment controller, one of a controller that was
// removed, and one of each of three clients.
func newRecordsHandler(t *testing.T) http.Handler {
	t.Helper()
	var names []string
	o := observe.New(observe.Options{Clients: func() (clients []observe.Client) {
		for _, name := range names {
			clients = append(clients, observe.Client{Name: name})
		}
		return clients
	}})
	t.Cleanup(func() { o.Close() })
	web := observe.Object{Group: "apps", Resource: "deployments", Kind: "Deployment", Namespace: "default", Name: "web"}
	names = []string{"suite (kubernetes-admin)", "twin (kubernetes-admin)", "twin (eve)"}
	for _, by := range append([]string{"deployment-controller", "deployment-controller"}, names...) {
		o.Recorder(by).RecordCall(&observe.Called{Verb: "update", Object: web, Status: 200})
	}
	o.Append(&observe.Called{Controller: "removed-controller", Verb: "update", Object: web, Status: 200})
	return Handler(Services{Source: o, Nodes: fakeNodes{}, Started: time.Unix(7, 0).UTC(), Controllers: func() []control.Controller {
		return []control.Controller{{Name: "deployment-controller", Aliases: []string{"deployment"}}, {Name: "job-controller"}}
	}})
}

func TestRecordsOfAnActor(t *testing.T) {
	h := newRecordsHandler(t)
	for name, want := range map[string]int{
		"deployment-controller": 2, "deployment": 2, "job-controller": 0, "suite": 1, "suite+(kubernetes-admin)": 1, "removed-controller": 1, observe.Own: 0,
	} {
		w := request(h, "GET "+RecordsPath+"?controller="+name, "")
		var page recordsPage
		if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK || len(page.Records) != want {
			t.Errorf("%s: got %d %s, want %d records; %v", name, w.Code, w.Body, want, err)
		}
	}
	for name, says := range map[string]string{
		"deploymnt": `unknown controller or client "deploymnt": `,
		"twin":      `"twin" is the program of 2 clients: name one of "twin (kubernetes-admin)", "twin (eve)"`,
	} {
		s := requireStatus(t, request(h, "GET "+RecordsPath+"?controller="+name, ""), http.StatusBadRequest)
		if !strings.HasPrefix(s.Message, "parameter controller: "+says) {
			t.Errorf("%s: got %q", name, s.Message)
		}
	}
}

func TestRecordsOfAnObject(t *testing.T) {
	h := newRecordsHandler(t)
	for query, says := range map[string]string{
		"group=apps&resource=deployments&namespace=default&name=web": "",
		"group=example.com&resource=webs&name=x":                     "",
		"group=metrics.k8s.io&resource=pods&name=x":                  "",
		"resource=endpoints&namespace=default&name=x":                "",
		"group=networking.k8s.io&resource=networkpolicies&name=x":    "",
		"group=storage.k8s.io&resource=storageclasses&name=x":        "",
		"kind=synced&kind=logged&namespace=default&name=web":         "",
		"name=web":                                 "an object has a resource",
		"kind=synced&kind=called&name=web":         "an object has a resource",
		"resource=pods&namespace=default":          "",
		"namespace=default":                        "an object has a resource",
		"kind=synced&namespace=default":            "a key has a name: give parameter name",
		"resource=deployments&name=web":            `parameter resource: group "" has no deployments: use group=apps`,
		"resource=ingresses&name=web":              `parameter resource: group "" has no ingresses: use group=networking.k8s.io`,
		"group=apps&resource=deployment&name=web":  `parameter resource: group "apps" has no deployment: give its plural`,
		"group=apps&resource=pods&name=web":        `parameter resource: group "apps" has no pods: use no group`,
		"resource=Pod&name=web":                    `parameter resource: group "" has no Pod: give its plural`,
		"resource=widgets&namespace=a&name=widget": `parameter resource: group "" has no widgets: give its plural, as of kubectl api-resources, and its group`,
	} {
		w := request(h, "GET "+RecordsPath+"?"+query, "")
		if says == "" {
			if w.Code != http.StatusOK {
				t.Errorf("%s: got %d %s", query, w.Code, w.Body)
			}
			continue
		}
		if s := requireStatus(t, w, http.StatusBadRequest); !strings.HasPrefix(s.Message, says) {
			t.Errorf("%s: got %q, want %q", query, s.Message, says)
		}
	}
}

// After a restart the numbers of records begin again. A client that goes on with the old one sees that, as it would otherwise
// see nothing for a long time.
func TestRecordsAfterTheLast(t *testing.T) {
	h := newRecordsHandler(t)
	w := request(h, "GET "+RecordsPath+"?after=6", "")
	if got := w.Body.String(); w.Code != http.StatusOK || got != `{"records":[],"next":6,"last":6,"started":"1970-01-01T00:00:07Z"}`+"\n" {
		t.Errorf("got %d %s", w.Code, got)
	}
	s := requireStatus(t, request(h, "GET "+RecordsPath+"?after=7", ""), http.StatusGone)
	if want := "parameter after: the last record is 6: the control plane was started again, begin with after=0"; s.Message != want {
		t.Errorf("got %q", s.Message)
	}
}
