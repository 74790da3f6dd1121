package clients

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

func newCall(verb, resource, subresource string, status int) *observe.Called {
	return &observe.Called{Verb: verb, Subresource: subresource, Status: status, Object: observe.Object{Group: "apps", Resource: resource, Namespace: "a", Name: "x"}}
}

func TestPermissions(t *testing.T) {
	p := permissions{all: new(atomic.Int64)}
	for _, c := range []*observe.Called{
		newCall("list", "deployments", "", http.StatusForbidden),
		newCall("list", "deployments", "", http.StatusOK),
		newCall("update", "deployments", "status", http.StatusConflict),
		newCall("patch", "deployments", "", http.StatusCreated), // by apply
		newCall("get", "/version", "", http.StatusOK),
		newCall("get", "secrets", "", 0), // not answered
	} {
		p.note(c)
	}
	other := newCall("get", "secrets", "", http.StatusOK)
	other.Client = &observe.Caller{Impersonates: "jane"}
	p.note(other)
	use := func(verb, resource string, requests, refused int64) control.PermissionUse {
		return control.PermissionUse{Permission: control.Permission{Verb: verb, Group: "apps", Resource: resource, Namespace: "a"}, Requests: requests, Refused: refused}
	}
	want := []control.PermissionUse{
		use("list", "deployments", 2, 1), use("update", "deployments/status", 1, 0), use("patch", "deployments", 1, 0), use("create", "deployments", 1, 0),
	}
	if diff := cmp.Diff(want, p.uses); diff != "" {
		t.Error(diff)
	}
}

// A client can ask for any path, and would write a role with it that allows everything.
func TestPermissionsHaveNames(t *testing.T) {
	p := permissions{all: new(atomic.Int64)}
	for _, change := range []func(*observe.Called){
		func(c *observe.Called) { c.Verb = "" }, // of an unknown method
		func(c *observe.Called) { c.Verb = "*" },
		func(c *observe.Called) { c.Object.Group = "*" },
		func(c *observe.Called) { c.Object.Resource = "*" },
		func(c *observe.Called) { c.Object.Resource = "pods/*" },
		func(c *observe.Called) { c.Subresource = "*" },
		func(c *observe.Called) { c.Object.Namespace = "a\x1b[2J" },
	} {
		c := newCall("get", "pods", "", http.StatusForbidden)
		change(c)
		p.note(c)
	}
	if len(p.uses) > 0 || p.leftOut > 0 {
		t.Errorf("%+v", p.uses)
	}
	c := newCall("get", "virtualmachines.v1", "guestOS_info", http.StatusOK)
	c.Object.Group = "kubevirt-2.io"
	if p.note(c); len(p.uses) != 1 {
		t.Error("names of an aggregated API are left out")
	}
}

func TestPermissionsAreBounded(t *testing.T) {
	p := permissions{all: new(atomic.Int64)}
	for i := range maxPermissions + 3 {
		c := newCall("get", "pods", "", http.StatusOK)
		c.Object.Namespace = fmt.Sprint(i)
		p.note(c)
	}
	if len(p.uses) != maxPermissions || p.leftOut != 3 {
		t.Errorf("%d permissions and %d left out, want %d and 3", len(p.uses), p.leftOut, maxPermissions)
	}
	other := permissions{all: p.all}
	p.all.Add(maxAllPermissions - maxPermissions)
	if other.note(newCall("get", "pods", "", http.StatusOK)); other.leftOut != 1 {
		t.Error("a client keeps more than all may")
	}
	p.all.Add(maxPermissions - maxAllPermissions)
	if p.forget(); p.all.Load() != 0 {
		t.Errorf("%d permissions remain of a client that is forgotten", p.all.Load())
	}
}

// A client may be forgotten before a request of it is answered.
func TestPermissionsOfAForgottenClient(t *testing.T) {
	all := new(atomic.Int64)
	p := permissions{all: all}
	p.note(newCall("list", "deployments", "", http.StatusOK))
	p.forget()
	p.note(newCall("get", "deployments", "", http.StatusOK))
	if n := all.Load(); n != 0 {
		t.Errorf("%d permissions are counted, want none", n)
	}
}
