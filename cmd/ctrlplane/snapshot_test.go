package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestSnapshotErrors has command lines that fail before they need a control plane, because of their words
// or of the file.
func TestSnapshotErrors(t *testing.T) {
	h := enterHome(t)
	file := func(name string) string { return filepath.Join(string(h), "state", "ctrlplane", "_snapshots", name) }
	value := make([]byte, 1000)
	if _, err := rand.Read(value); err != nil {
		t.Fatal(err)
	}
	good, err := snapshot.Encode(snapshot.Header{Kubernetes: "v1.37.1"}, snapshot.State{Revision: 7, Entries: []snapshot.Entry{{Key: "/registry/configmaps/default/a", Value: value}}})
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/3] ^= 4
	if err := os.MkdirAll(filepath.Dir(file("x")), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"base": good, "flipped": flipped, "cut": good[:len(good)/2], "empty": nil, "newer": append([]byte("ctrlplane snapshot 9\n"), good...),
	} {
		testutil.WriteFile(t, file(name), content)
	}
	for _, tc := range []struct {
		args string
		code int
		says string
	}{
		{"snapshot nope", 2, "unknown verb"},
		{"snapshot restore", 2, "takes one name"},
		{"snapshot restore a b", 2, "takes one name"},
		{"snapshot restore bse", 2, `did you mean "base"?`},
		{"snapshot restore ../../base", 2, "no such file"},
		{"snapshot restore " + file("flipped"), 1, "it is damaged"},
		{"snapshot restore Base", 2, "cannot name a snapshot"},
		{"snapshot restore flipped", 1, "it is damaged"},
		{"snapshot restore cut", 1, "it is damaged"},
		{"snapshot restore empty", 1, "it is not a snapshot"},
		{"snapshot restore newer", 1, "it has format 9"},
		{"snapshot diff", 2, "one or two names"},
		{"snapshot diff base flipped", 1, "it is damaged"},
		{"snapshot diff base -o xml", 2, "--output"},
		{"snapshot diff base --update", 2, "--golden"},
		{"snapshot diff base --golden x --exit-code", 2, "exit code of its own"},
		{"snapshot save base", 1, "exists already"},
		{"snapshot save a b", 2, "takes one name"},
		{"snapshot delete", 2, "missing snapshot name"},
		{"snapshot delete nothing-like-it", 2, "unknown snapshot"},
		{"snapshot delete " + file("base"), 2, "only you can remove"},
		{"snapshot list -o xml", 2, "--output"},
		{"reset x", 2, "takes no arguments"},
		{"up --from bse", 2, `--from: unknown snapshot "bse": did you mean "base"?`},
		{"up --from ./bse", 2, `--from: snapshot "./bse": no such file`},
		{"up --data-dir new --from cut", 2, "the snapshot is refused: it is damaged"},
		{"up --data-dir new --from " + file("flipped"), 2, "the snapshot is refused: it is damaged"},
		{"up --data-dir new --from " + filepath.Dir(file("x")), 1, "is a directory"},
	} {
		h.requireFailure(t, strings.Fields(tc.args), tc.code, tc.says)
	}
	if _, err := os.Stat("new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
	list := h.mustRun(t, "snapshot", "list")
	for _, want := range []string{"base ", "v1.37.1", "flipped ", "it is damaged", "it has format 9"} {
		if !strings.Contains(list, want) {
			t.Errorf("%q is missing:\n%s", want, list)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(file("x"))); err != nil || len(entries) != 5 {
		t.Errorf("in the folder of the snapshots: %v, %v", entries, err)
	}
}
