package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// evilText is a name that objects such as Roles can have.
const evilText = "a\x1b[2J\u007f\u0085\u009b31m\u202eb\u2028c\u2029\U000e0001"

// TestOutputHasNoControlCharacters has names of objects that clients have chosen.
func TestOutputHasNoControlCharacters(t *testing.T) {
	var out bytes.Buffer
	key := cache.ObjectName{Namespace: "n", Name: evilText}
	r := reconcileCommand{out: &out, command: []string{"no-such-program-" + evilText}}
	reconcile := func() error {
		if err := r.sync(t.Context(), key, ""); err == nil {
			return errors.New("a program that does not exist was started")
		}
		return nil
	}
	asJSON, asYAML := stepCommand{output: newObjectOutput()}, stepCommand{output: newObjectOutput()}
	asJSON.output.format, asYAML.output.format = outputJSON, outputYAML
	writeObject := func(o *outputFlag) error {
		_, err := o.writeObject(&out, map[string]string{evilText: evilText})
		return err
	}
	step := func(s stepCommand) error {
		return s.printStep(&out, ui.Mode{}, &control.SteppedWrite{Error: evilText})
	}
	evil := &pacedPlane{key: control.ReleasedKey{Controller: "op/" + evilText, RunningSync: observe.RunningSync{Queue: evilText, Key: evilText}}}
	permission := control.Permission{Verb: evilText, Resource: evilText, Namespace: evilText}
	list := control.PermissionList{Client: evilText, Items: []control.PermissionUse{{Permission: permission, Requests: 1, Refused: 1}}}
	for name, write := range map[string]func() error{
		"clients roles": func() error {
			names := []string{evilText}
			return clientRoles{permissions: list, named: names, siblings: names, leftOut: names}.print(&out, &target{name: "default"})
		},
		"reconcile":    reconcile,
		"speed":        func() error { return releaseKey(t.Context(), &out, &out, evil, evil) },
		"-o json":      func() error { return writeObject(asJSON.output) },
		"-o yaml":      func() error { return writeObject(asYAML.output) },
		"step -o json": func() error { return step(asJSON) },
		"step -o yaml": func() error { return step(asYAML) },
	} {
		out.Reset()
		if err := write(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text := out.String()
		if !strings.HasSuffix(text, "\n") || slices.ContainsFunc([]string{"\x1b", "\u007f", "\u0085", "\u009b", "\u202e", "\u2028", "\u2029", "\U000e0001"}, func(c string) bool { return strings.Contains(text, c) }) {
			t.Errorf("%s: %q", name, text)
		}
	}
}
