package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/health"
)

var pagesDir = flag.String("pages", "", "folder to write pages into for the browser tests in tools/browser")

// TestWriteBrowserPages writes the pages that the browser tests open. Those are in
// a module of their own, which does not reach what these pages are made of.
func TestWriteBrowserPages(t *testing.T) {
	if *pagesDir == "" {
		t.Skip("run by the tests in tools/browser")
	}
	empty := writeReport(t, newFakeJournal(), &finalState{}, Outcome{Command: []string{"true"}, Began: runStart, Took: time.Second})
	for name, dir := range map[string]string{
		"failed-800":   writeFailedReport(t, 800),
		"failed-3000":  writeFailedReport(t, 3000),
		"failed-16384": writeFailedReport(t, 16384), // as many records as an observer keeps
		"empty":        empty,
	} {
		page, err := os.ReadFile(filepath.Join(dir, PageFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*pagesDir, name+".html"), page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// writeFailedReport writes a report of a failed run whose page shows everything
// that a page can show, and returns its folder.
func writeFailedReport(t *testing.T, syncs int) string {
	t.Helper()
	s := &finalState{}
	for i, text := range hostileTexts {
		s.unhealthy = append(s.unhealthy, unhealthyObject{
			health.State{Ref: health.Ref{Namespace: "shop", Name: text}, Status: health.InProgress}, "why: " + text, i,
		})
		s.events = append(s.events, apiEvent{At: runStart.Add(time.Duration(i) * time.Second), Warning: i%3 == 0, Reason: "FailedScheduling", Object: "Pod shop/" + text, Message: text, From: "scheduler", Count: int32(i + 1)})
		s.objects = append(s.objects, parseObject(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: c%d}}", i)))
	}
	return writeReport(t, rolloutJournal(syncs), s, Outcome{
		Command: []string{"sh", "-c", hostileTexts[0]}, Code: 1, Began: runStart, Took: 6 * time.Second,
		Stages: []Stage{{Name: "command", At: runStart.Add(900 * time.Millisecond), Took: 4800 * time.Millisecond}, {Name: "stop", At: runStart.Add(5700 * time.Millisecond), Took: 300 * time.Millisecond}},
	})
}
