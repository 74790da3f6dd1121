package kubeconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestMergeRefuses(t *testing.T) {
	const foreign = " that ctrlplane has not created: rename or delete it, or choose another --name"
	const correct = ": correct it, or name another file in KUBECONFIG"
	tests := map[string]struct {
		list  []string
		files map[string]string
		want  string // DIR stands for the folder
	}{
		"not YAML": {
			list:  []string{"config"},
			files: map[string]string{"config": "clusters: [\n"},
			want:  "kubeconfig DIR/config does not parse (yaml: line 1: …)" + correct,
		},
		"something else": {
			list:  []string{"config"},
			files: map[string]string{"config": "apiVersion: v1\nkind: Pod\n"},
			want:  `kubeconfig DIR/config does not parse (no kind "Pod" is registered …)` + correct,
		},
		"of another shape": {
			list:  []string{"config"},
			files: map[string]string{"config": "apiVersion: v1\nkind: Config\nclusters: {a: {}}\ncontexts: 1\n"},
			want:  `kubeconfig DIR/config does not parse (json: cannot unmarshal object …)` + correct,
		},
		"another of the list": {
			list:  []string{"config", "other"},
			files: map[string]string{"config": usersKubeconfig, "other": "\t"},
			want:  "kubeconfig DIR/other does not parse (yaml: found character that cannot start any token)" + correct,
		},
		"folder": {
			list:  []string{"config"},
			files: map[string]string{"config/x": ""},
			want:  "kubeconfig DIR/config: read DIR/config: is a directory: fix the cause, or name another file in KUBECONFIG",
		},
		"below a file": {
			list:  []string{"file/config"},
			files: map[string]string{"file": ""},
			want:  "kubeconfig DIR/file/config: open DIR/file/config.lock: not a directory: fix the cause, or name another file in KUBECONFIG",
		},
		"below folders that cannot all be made": {
			list: []string{"new/" + strings.Repeat("n", 300) + "/config"},
			want: "kubeconfig DIR/new/LONG/config: mkdir DIR/new/LONG: file name too long: fix the cause, or name another file in KUBECONFIG",
		},
		"context of the user's": {
			list:  []string{"config"},
			files: map[string]string{"config": "contexts: [{name: a, context: {cluster: a, user: a}}]"},
			want:  "kubeconfig DIR/config has a context a" + foreign,
		},
		"cluster of the user's": {
			list:  []string{"config"},
			files: map[string]string{"config": "clusters: [{name: a, cluster: {server: x}}]"},
			want:  "kubeconfig DIR/config has a cluster a" + foreign,
		},
		"user of the user's": {
			list:  []string{"config"},
			files: map[string]string{"config": "users: [{name: a, user: {token: x}}]"},
			want:  "kubeconfig DIR/config has a user a" + foreign,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := setKubeconfigFiles(t, test.list, test.files)
			before := testutil.ReadFiles(t, dir)
			_, err := Merge("a", sampleConfig("a"))
			want := strings.ReplaceAll(strings.ReplaceAll(test.want, "DIR", dir), "LONG", strings.Repeat("n", 300))
			wantError(t, err, want)
			if diff := cmp.Diff(before, testutil.ReadFiles(t, dir)); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestMergeRefusesIncompleteContext(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, nil)
	cfg := sampleConfig("a")
	cfg.CurrentContext = "b"
	_, err := Merge("a", cfg)
	wantError(t, err, `kubeconfig: context a: cannot merge, because the current context "b" is incomplete`)
	cfg.CurrentContext = "a"
	delete(cfg.AuthInfos, "a")
	_, err = Merge("a", cfg)
	wantError(t, err, `kubeconfig: context a: cannot merge, because the current context "a" is incomplete`)
	if got := testutil.ReadFiles(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}

	t.Setenv("KUBECONFIG", string(filepath.ListSeparator))
	_, err = Merge("a", sampleConfig("a"))
	wantError(t, err, "kubeconfig: KUBECONFIG names no file: name one, or unset it")
	mustUnmerge(t, "a")
}

func TestMergeRefusesDanglingLink(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"config"}, nil)
	path := filepath.Join(dir, "config")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Skip(err)
	}
	want := "kubeconfig " + path + " is a link to a file that does not exist: create that file, or name another one in KUBECONFIG"
	_, err := Merge("a", sampleConfig("a"))
	wantError(t, err, want)
	mustUnmerge(t, "a")
}

func TestUnmergeKeepsForeignEntries(t *testing.T) {
	const own = "contexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: x}}]\nusers: [{name: a, user: {token: x}}]\ncurrent-context: a\n"
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": own})
	mustUnmerge(t, "a")
	if got := testutil.ReadFiles(t, dir)["config"]; got != own {
		t.Errorf("got %s", got)
	}
}

// TestUnmergeContinuesAfterError unmerges from several files, one of which does not parse.
func TestUnmergeContinuesAfterError(t *testing.T) {
	dir := setKubeconfigFiles(t, []string{"good"}, map[string]string{"good": usersKubeconfig, "bad": "\t"})
	good, bad := filepath.Join(dir, "good"), filepath.Join(dir, "bad")
	mustMerge(t, "a")
	t.Setenv("KUBECONFIG", bad+string(filepath.ListSeparator)+good)
	wantError(t, Unmerge("a", sampleConfig("a")), "kubeconfig "+bad+" does not parse (yaml: found character that cannot start any token): correct it, or name another file in KUBECONFIG")
	if got := mustLoad(t, good); got.CurrentContext != "work" || len(got.Contexts) != 2 {
		t.Errorf("got %+v", got)
	}
	if got := testutil.ReadFiles(t, dir); len(got) != 2 || got["bad"] != "\t" {
		t.Errorf("got %v", got)
	}
}
