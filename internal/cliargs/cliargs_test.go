package cliargs

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestObject(t *testing.T) {
	for _, test := range []struct {
		args       []string
		kind, name string // "" = refused
	}{
		{[]string{"deploy/web"}, "deploy", "web"},
		{[]string{"deployments.v1.apps", "web"}, "deployments.v1.apps", "web"},
		{[]string{"deploy"}, "", ""}, {[]string{"deploy/"}, "", ""}, {[]string{"/web"}, "", ""}, {[]string{"a/b/c"}, "", ""},
		{[]string{"deploy/web", "x"}, "", ""}, {[]string{"a", "b", "c"}, "", ""}, {nil, "", ""},
	} {
		kind, name, err := Object("ctrlplane why", test.args)
		if kind != test.kind || name != test.name || (err == nil) != (test.kind != "") || err != nil && !errors.As(err, new(usage.Error)) {
			t.Errorf("%q: got %q, %q, %v", test.args, kind, name, err)
		}
	}
}

func TestControllerNames(t *testing.T) {
	for _, test := range []struct {
		args []string
		all  bool
		want []string // nil = refused
	}{
		{[]string{"job", "deployment,replicaset"}, false, []string{"job", "deployment", "replicaset"}},
		{nil, true, []string{control.All}},
		{[]string{"job"}, true, nil}, {nil, false, nil}, {[]string{""}, false, nil}, {[]string{"job,"}, false, nil},
		{[]string{"job,,cronjob"}, false, nil}, {[]string{"*"}, false, nil}, {[]string{"operator/site"}, false, []string{"operator/site"}},
	} {
		got, err := ControllerNames("pause", test.args, test.all)
		if !slices.Equal(got, test.want) || (err == nil) != (test.want != nil) || err != nil && !errors.As(err, new(usage.Error)) {
			t.Errorf("%q: got %q, %v", test.args, got, err)
		}
	}
}

func TestDelay(t *testing.T) {
	for _, args := range [][]string{nil, {"job"}, {"job", "0s"}, {"job", "-1s"}, {"job", "soon"}, {"job", "1e400h"}} {
		if names, d, err := Delay("controllers", "controller", args); !errors.As(err, new(usage.Error)) {
			t.Errorf("%q: got %q, %v, %v", args, names, d, err)
		}
	}
	if names, d, err := Delay("controllers", "controller", []string{"a", "b", "1m30s"}); err != nil || d != 90*time.Second || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("got %q, %v, %v", names, d, err)
	}
}
