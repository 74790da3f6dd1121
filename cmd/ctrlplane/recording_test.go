package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRecordingWithoutProblems is about one of an earlier version, whose status would look healthy: a header that does not
// have them, and no snapshot that has.
func TestRecordingWithoutProblems(t *testing.T) {
	const header = `{"kind":"ctrlplane","version":1,"time":"2026-07-01T12:00:00Z"}` + "\n"
	const record = `{"seq":1,"time":"2026-07-01T12:00:01Z","kind":"controllerChanged","controller":"a","state":"running"}` + "\n"
	for content, want := range map[string]string{
		header + record: "ctrlplane: warning: recording x may lack the problems of Pods, Jobs, Nodes and writes: an earlier version of ctrlplane or --ui json has made it\n",
		strings.Replace(header, "}", `,"problems":true}`, 1) + record:                                                                                "",
		header + `{"kind":"snapshot","time":"2026-07-01T12:00:00Z","problems":[{"kind":"Pod","problem":"unschedulable","count":1}]}` + "\n" + record: "",
		header + record + `{"kind":"snapshot","time":"2026-07-01T12:00:02Z","problems":[{"kind":"Pod","problem":"unschedulable","count":1}]}` + "\n": "",
	} {
		h := enterHome(t)
		if err := os.WriteFile("x", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := h.run(t, "status", "--from", "x"); r.code != 0 || r.stderr != want {
			t.Errorf("%s: exit code %d, %q, want %q", content, r.code, r.stderr, want)
		}
	}
}

func TestUnusableRecordings(t *testing.T) {
	const header = `{"kind":"ctrlplane","version":1,"time":"2026-07-01T12:00:00Z"}` + "\n"
	const good = header + `{"seq":1,"time":"2026-07-01T12:00:01Z","kind":"controllerChanged","controller":"a","state":"running"}` + "\n"
	const served = good + `{"kind":"resources","resources":[{"version":"v1","resource":"pods","kind":"Pod","shortNames":["po"]}]}` + "\n"
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
		"damaged":   {[]string{"trace", "pod/x", "--from", "damaged"}, 1, "line 2 is damaged: unexpected end of JSON input"},
		"at alone":  {[]string{"status", "--at", "1s"}, 2, "--at needs --from: name a recording, or leave it out"},
		"at":        {[]string{"status", "--from", "good", "--at", "noon"}, 2, `--at: "noon" is not a time: use one such as `},
		"beyond":    {[]string{"status", "--from", "good", "--at", "1h"}, 2, `--at: "1h" is not in the recording, which goes from `},
		"name":      {[]string{"status", "--from", "good", "--name", "x"}, 2, "--from excludes --name and --data-dir"},
		"follow":    {[]string{"trace", "pod/x", "-f", "--from", "good"}, 2, "--follow and --from exclude each other"},
		"kind":      {[]string{"why", "po/x", "--from", "good"}, 2, `unknown kind "po": it is not in the recording: the recording has no short names`},
		"late kind": {[]string{"why", "rmq/x", "--from", "served"}, 2, `unknown kind "rmq": it is not in the recording: check how it is written: of kinds that were defined later it has full names only`},
		"overwrite": {[]string{"up", "--record", "notes"}, 1, "--record: notes: it exists and is not a recording: choose another name"},
		"replace":   {[]string{"up", "--record", "good"}, 1, "--record: good: it exists, and may still be written: choose another name, or move the recording away"},
		"no folder": {[]string{"up", "--record", filepath.Join("none", "x")}, 1, "--record: "},
		"limit":     {[]string{"up", "--record", "x", "--record-limit", "1Ki"}, 2, `--record-limit "1Ki": not a size from 4Mi to 1024Mi: use one such as 64Mi`},
		"no file":   {[]string{"up", "--record-limit", "10Mi"}, 2, "--record: missing file: name one"},
	} {
		t.Run(name, func(t *testing.T) {
			h := enterHome(t)
			for name, content := range map[string]string{"good": good, "served": served, "damaged": header + "{\n{}\n", "notes": "mine\n"} {
				if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h.requireFailure(t, tc.args, tc.code, tc.says)
		})
	}
}
