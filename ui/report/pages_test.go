package report

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/health/assert"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

var pagesDir = flag.String("pages", "", "folder to write pages into for the browser tests in tools/browser")

// TestWriteBrowserPages writes the pages that the browser tests open. Those are in
// a module of their own, which does not reach what these pages are made of.
func TestWriteBrowserPages(t *testing.T) {
	if *pagesDir == "" {
		t.Skip("run by the tests in tools/browser")
	}
	empty := writeReport(t, newFakeJournal(), &State{}, Outcome{Command: []string{"true"}, Began: runStart, Took: time.Second})
	for name, dir := range map[string]string{
		"failed-800":   writeFailedReport(t, 800),
		"failed-3000":  writeFailedReport(t, 3000),
		"failed-16384": writeFailedReport(t, 16384), // as many records as an observer keeps
		"empty":        empty,
		"passed":       writePassedReport(t),
	} {
		page := testutil.ReadFile(t, filepath.Join(dir, PageFile))
		testutil.WriteFile(t, filepath.Join(*pagesDir, name+".html"), page)
	}
}

// writePassedReport writes a report of a run that passed, in which failures were retried
// successfully, and returns its folder.
func writePassedReport(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := &outputStream{log: r.output, to: io.Discard}
	for i, line := range []string{"first line\n", "second line\n", "</script>last\n"} {
		out.addText([]byte(line), runStart.Add(time.Duration(i+1)*300*time.Millisecond))
	}
	j := retryJournal(true)
	if err := r.Follow(j, nil); err != nil {
		t.Fatal(err)
	}
	r.final = &State{snapshot: j.now}
	if _, err := r.Write(Outcome{Command: []string{"true"}, Began: runStart, Took: 2 * time.Second, Assertions: []assert.Result{{Rule: "--no-hot-loop"}}}, io.Discard, emptyEnv); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeFailedReport writes a report of a failed run whose page shows everything
// that a page can show, and returns its folder.
func writeFailedReport(t *testing.T, syncs int) string {
	t.Helper()
	s := &State{}
	for i, text := range hostileTexts {
		s.unhealthy = append(s.unhealthy, unhealthyObject{
			State: health.State{Ref: health.Ref{Namespace: "shop", Name: text}, Status: health.InProgress}, Reason: "why: " + text, Below: below(i), Chain: []string{"Why " + text + " was changed", "  ↑ " + text},
		})
		s.deleted.objects = append(s.deleted.objects, deletedObject{
			unhealthyObject: s.unhealthy[i], At: runStart.Add(time.Second), By: text + " (kubernetes-admin)", With: "Namespace " + text, Existed: 1200 * time.Millisecond,
		})
		s.deleted.miss(errors.New(text))
		s.events = append(s.events, apiEvent{At: runStart.Add(time.Duration(i) * time.Second), Warning: i%3 == 0, Reason: "FailedScheduling", Object: "Pod shop/" + text, Message: text, From: "scheduler", Count: int32(i + 1)})
		s.objects = append(s.objects, parseObject(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i)))
	}
	return writeReport(t, rolloutJournal(syncs), s, Outcome{
		Command: []string{"sh", "-c", hostileTexts[0]}, Code: 1, Began: runStart, Took: 6 * time.Second, Simulated: hostileTexts[1], SimulatedObjects: hostileTexts,
		Stages: []Stage{{Name: "command", At: runStart.Add(900 * time.Millisecond), Took: 4800 * time.Millisecond}, {Name: "stop", At: runStart.Add(5700 * time.Millisecond), Took: 300 * time.Millisecond}},
	})
}

// below returns objects that another one controls.
func below(n int) []unhealthyObject {
	var list []unhealthyObject
	for i := range n {
		ref := health.Ref{Namespace: "shop", Name: fmt.Sprintf("below-%d", i)}
		list = append(list, unhealthyObject{State: health.State{Ref: ref, Status: health.InProgress}, Reason: hostileTexts[i]})
	}
	return list
}
