package rest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// emptyNodes has no nodes and adds none.
type emptyNodes struct{ control.Nodes }

func (emptyNodes) List(context.Context) ([]control.Node, error) { return nil, nil }

func (emptyNodes) Add(context.Context, int) ([]string, error) { return nil, nil }

// A loop over an empty list in any language works: it is not null.
func TestEmptyListsAreLists(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	h := Handler(Services{
		Source: o, Nodes: emptyNodes{}, Interventions: emptyInterventions{}, Controllers: func() []control.Controller { return nil },
		Unhealthy:   func(context.Context) ([]control.UnhealthyObject, error) { return nil, nil },
		Flags:       func() ([]control.Flag, error) { return nil, nil },
		Permissions: func(string) (control.PermissionList, error) { return control.PermissionList{}, nil },
	})
	for target, field := range map[string]string{
		"GET " + ControllersPath:             "items",
		"GET " + ControllersPath + "/held":   "items",
		"POST " + ControllersPath + "/pause": "names",
		"GET " + ClientsPath:                 "items",
		"GET " + PermissionsPath:             "items",
		"GET " + UnhealthyPath:               "items",
		"GET " + FlagsPath:                   "items",
		"GET " + NodesPath:                   "items",
		"POST " + NodesPath + "?count=1":     "names",
		"GET " + RecordsPath:                 "records",
	} {
		body := ""
		if strings.HasSuffix(target, "/pause") {
			body = `{"names":["a"]}`
		}
		if w := request(h, target, body); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"`+field+`":[]`) {
			t.Errorf("%s: got %d %s", target, w.Code, w.Body)
		}
	}
}

// emptyInterventions changes nothing, and holds nothing.
type emptyInterventions struct{ control.Intervener }

func (emptyInterventions) Change(context.Context, []string, control.Change) ([]string, error) {
	return nil, nil
}

func (emptyInterventions) HeldWrites(context.Context, string, int) (control.HeldWriteList, error) {
	return control.HeldWriteList{}, nil
}

// A request that would have no effect, or another one than the client means, is an error that says what to send.
func TestInvalidInput(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	h := Handler(Services{Source: o, Nodes: fakeNodes{}, Interventions: &fakeInterventions{}, Speed: &fakeSpeed{}, Snapshots: &fakeSnapshots{}})
	for _, tc := range []struct{ target, body, says string }{
		{"POST " + NodesPath, "", `parameter count: "" is not a number of 1 or more`},
		{"POST " + NodesPath + "?count=-1", "", `parameter count: "-1" is not a number of 1 or more`},
		{"POST " + NodesPath + "?number=1", "", "parameter number: unknown parameter: this request has the parameter count"},
		{"DELETE " + NodesPath, "", "no node is named: add ?name=NODE, which is repeatable"},
		{"POST " + NodesPath + "/fail", `{"names":["a"]}`, "the request has a body, which would have no effect: this request has the parameter name"},
		{"POST " + NodesPath + "/fail?names=a", "", "parameter names: unknown parameter: this request has the parameter name"},
		{"GET " + NodesPath + "?name=a", "", "parameter name: unknown parameter: this request has no parameters"},
		{"GET " + StatePath + "?name=a", "", "parameter name: unknown parameter: this request has no parameters"},
		{"PUT " + StatePath + "?name=a", "x", "parameter name: unknown parameter: this request has no parameters"},
		{"PUT " + SpeedPath, `{"speed":2}`, `request body: field "speed" has to be a string, got number`},
		{"PUT " + SpeedPath, `[]`, `request body: the body has to be an object, got array`},
		{"PUT " + SpeedPath, "", "request body: it is empty: send an object in JSON"},
		{"PUT " + SpeedPath, `{"speed":"1"} x`, "request body: there is more after the object: send one object"},
		{"PUT " + SpeedPath, `{"sped":"1"}`, `request body: unknown field "sped"`},
		{"POST " + ControllersPath + "/fail", `{"names":["a"],"fault":{"code":500}}`, `request body: field "fault.code" has to be a string, got number`},
		{"POST " + ControllersPath + "/pause", `{"names":[]}`, `pause: no names are given: name one or more, or "*" for all`},
		{"POST " + ControllersPath + "/pause", `{"names":["a"],"fault":{"rate":1,"code":"500"}}`, "pause: it has no fault: that is of fail"},
		{"POST " + ControllersPath + "/pause", `{"names":["` + strings.Repeat("a", maxNameLength+1) + `"]}`, "pause: a name has 4097 bytes: use one of at most 4096"},
		{"GET " + RecordsPath + "?after=1;kind=called", "", "parameters: invalid semicolon separator in query"},
		{"GET " + RecordsPath + "?%zz", "", `parameters: invalid URL escape "%zz"`},
		{"GET " + RecordsPath + "?controller=&limit=1", "", "parameter controller: it is empty: give a name, or leave it out"},
		{"GET " + RecordsPath + "?limit=1&limit=2", "", "parameter limit: it is given 2 times: give it once"},
		{"POST " + NodesPath + "?count=1&count=2", "", "parameter count: it is given 2 times: give it once"},
		{"POST " + ResetPath + "?timeout=foo", "", `parameter timeout: "foo" is not a duration such as 30s`},
		{"GET " + StatePath + "?timeout=-1s", "", `parameter timeout: "-1s" is not a duration such as 30s`},
		{"GET " + RecordsPath + "?after=-1", "", `parameter after: "-1" is not a number of 0 or more`},
		{"GET " + RecordsPath + "?notable=yes", "", `parameter notable: "yes" is neither true nor false`},
	} {
		if s := requireStatus(t, request(h, tc.target, tc.body), http.StatusBadRequest); s.Message != tc.says {
			t.Errorf("%s %s: got %q, want %q", tc.target, tc.body, s.Message, tc.says)
		}
	}
}

// Clients with a time limit send it as a parameter of each request.
func TestTimeoutIsAParameterOfAllRequests(t *testing.T) {
	o := observe.New(observe.Options{})
	defer o.Close()
	h := Handler(Services{Source: o, Nodes: fakeNodes{}})
	for _, path := range []string{RecordsPath, SnapshotPath, NodesPath} {
		if w := request(h, "GET "+path+"?timeout=5s", ""); w.Code != http.StatusOK {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
	}
}
