package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// crashedPod returns a Pod of the ReplicaSet web-1 in a state of its only container.
func crashedPod(name, state string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: %s, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: uid-of-web-1, controller: true}]}
status: {phase: Running, containerStatuses: [{name: c, %s}]}`, name, state)
}

const (
	crashLoop = `ready: false, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3}}`
	exited    = `ready: false, state: {terminated: {exitCode: 3}}`
	unready   = `ready: false, state: {running: {}}`
	restarted = `ready: false, state: {running: {}}, lastState: {terminated: {exitCode: 3}}`
	pulling   = `ready: false, state: {waiting: {reason: ImagePullBackOff}}`
	completed = `ready: false, state: {terminated: {exitCode: 0}}`
)

func TestLogRequests(t *testing.T) {
	for state, want := range map[string]string{
		crashLoop: "shop/p c true", exited: "shop/p c false", unready: "shop/p c false", restarted: "shop/p c true", pulling: "", completed: "",
	} {
		s := &State{objects: parseObjects(t, crashedPod("p", state))}
		var got string
		s.readLogs(t.Context(), func(_ context.Context, r logRequest) (logEnd, error) {
			got += fmt.Sprintf("%s/%s %s %v", r.namespace, r.pod, r.container, r.previous)
			return logEnd{}, nil
		}, maxLogs)
		if got != want {
			t.Errorf("%s: reads %q, want %q", state, got, want)
		}
	}
}

// TestLogsOfUnhealthyObjects reads the log of a Pod: the Deployment that controls it has
// its last lines, on the page, in junit.xml and as text.
func TestLogsOfUnhealthyObjects(t *testing.T) {
	s := &State{objects: parseObjects(t, stuckDeployment, itsReplicaSet, crashedPod("web-1-a", crashLoop), settings)}
	reasons := s.findUnhealthy(func(*unstructured.Unstructured) string { return "why" })
	logs := s.readLogs(t.Context(), func(context.Context, logRequest) (logEnd, error) {
		text := "left out\n" + strings.Repeat("more\n", maxShortLines-2) + "::error::cannot \x1b[31mreach db\n" + strings.Repeat("x", 2*maxShortLine) + "\n"
		return logEnd{text: text, earlier: 5}, nil
	}, maxLogs)
	s.cases, _ = objectCases(s.objects, []manifests.Object{}, nil, reasons, logs, ownDoubt)
	bad, of := s.NotHealthy()
	if len(bad) != 1 || of != 2 {
		t.Fatalf("%v of %d", bad, of)
	}
	want := []string{"log of Pod shop/web-1-a, container c, before its restart", "  | … 6 lines left out: see there"}
	for range maxShortLines - 2 {
		want = append(want, "  | more")
	}
	want = append(want, "  | : :error::cannot [31mreach db", "  | "+strings.Repeat("x", maxShortLine-1)+"…")
	if diff := cmp.Diff(want, bad[0].LogLines("see there")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var junit bytes.Buffer
	if err := writeJUnit(&junit, &Outcome{Command: []string{"true"}, Began: runStart}, nil, s.cases); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"  | … 6 lines left out: see report.html", "cannot [31mreach db"} {
		if !strings.Contains(junit.String(), part) {
			t.Errorf("junit.xml lacks %q of the log:\n%s", part, &junit)
		}
	}
}

// TestLogsAreBounded has more Pods than logs are read of, and one that cannot be read.
func TestLogsAreBounded(t *testing.T) {
	s := &State{objects: parseObjects(t, stuckDeployment, itsReplicaSet)}
	for i := range 2 * maxLogs {
		s.objects = append(s.objects, parseObjects(t, crashedPod(fmt.Sprintf("of-web-%d", i), exited))...)
		alone := parseObject(t, crashedPod(fmt.Sprintf("alone-%d", i), exited))
		alone.SetOwnerReferences(nil)
		s.objects = append(s.objects, alone)
	}
	reads := 0
	logs := s.readLogs(t.Context(), func(context.Context, logRequest) (logEnd, error) {
		reads++
		return logEnd{}, errors.New("gone\nand\x07 lost")
	}, maxLogs)
	if reads != maxLogs || len(logs["uid-of-web"]) != maxObjectLogs {
		t.Errorf("%d logs, %d of one object", reads, len(logs["uid-of-web"]))
	}
	want := []string{"log of Pod shop/alone-0, container c: cannot be read: gone and lost"}
	if diff := cmp.Diff(want, logText(logs["uid-of-alone-0"], "")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLogReader reads as kubectl does, and keeps the end of a log that is too long, from the beginning of a line.
func TestLogReader(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.String()
		for range 3 * maxLogRead / 1000 {
			fmt.Fprintln(w, strings.Repeat("x", 999))
		}
		fmt.Fprintln(w, "the reason")
	}))
	defer server.Close()
	read, err := newLogReader(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	end, err := read(t.Context(), logRequest{namespace: "shop", pod: "web", container: "c", previous: true})
	text, earlier := end.text, end.earlier
	if err != nil || len(text) > maxLogRead || len(text) < maxLogRead-1000 || !strings.HasSuffix(text, "x\nthe reason\n") || len(text)%1000 != len("the reason\n") {
		t.Errorf("%d bytes, %v, end %q", len(text), err, text[max(len(text)-40, 0):])
	}
	if all := earlier + strings.Count(text, "\n"); all != 3*maxLogRead/1000+1 {
		t.Errorf("%d lines before the end, of %d", earlier, all)
	}
	if want := "/api/v1/namespaces/shop/pods/web/log?container=c&previous=true"; asked != want {
		t.Errorf("asked for %s, want %s", asked, want)
	}
}

// TestEndOfALogWithLongLines has the last line, which says why, both in short and on the page.
func TestEndOfALogWithLongLines(t *testing.T) {
	text := strings.Repeat(strings.Repeat("j", 3000)+"\n", 300) + "FATAL: the real reason\n"
	log, _ := readLog(t.Context(), func(context.Context, logRequest) (logEnd, error) { return logEnd{text: text, earlier: 7}, nil }, logRequest{})
	for _, e := range []excerpt{log.Short, log.Kept} {
		if lines := e.last(1); lines[0] != "FATAL: the real reason" {
			t.Errorf("the last line is %q", lines)
		}
		if all := e[0].Omitted + len(e[0].Lines); all != 7+301 {
			t.Errorf("%d lines left out of %d", e[0].Omitted, all)
		}
	}
	wide := make([]string, maxLogLines)
	for i := range wide {
		wide[i] = strings.Repeat("語", 2*maxLogLine)
	}
	if n := countFitting(wide); n == 0 || n*maxLogLine*len("語") > maxLogBytes {
		t.Errorf("the page has %d lines of wide runes", n)
	}
	if size := len(strings.Join(log.Kept[0].Lines, "\n")); size > maxLogBytes || size < maxLogBytes-3001 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestLogOfACrash: runtimes say the reason first, and then print a trace.
func TestLogOfACrash(t *testing.T) {
	for _, first := range []string{
		`panic: config: missing required key "database.url"`, "fatal error: all goroutines are asleep - deadlock!", `Exception in thread "main" java.lang.IllegalStateException: no db`,
		"Traceback (most recent call last):", "thread 'main' panicked at src/main.rs:2:5:",
	} {
		text := "starting\npanic: handled\nok\n" + first + "\n" + strings.Repeat("  at f\n", 2*maxLogLines) + "the end\n"
		log, _ := readLog(t.Context(), func(context.Context, logRequest) (logEnd, error) { return logEnd{text: text}, nil }, logRequest{})
		for _, tc := range []struct {
			of         excerpt
			head, tail int
		}{{log.Short, maxShortCrash, maxShortLines}, {log.Kept, maxCrash, maxLogLines}} {
			if len(tc.of) != 2 || tc.of[0].Omitted != 3 || tc.of[0].Lines[0] != first || len(tc.of[0].Lines) != tc.head || len(tc.of[1].Lines) != tc.tail {
				t.Errorf("%s: %.300v", first, tc.of)
			} else if got := tc.of[1].Omitted; got != 2+2*maxLogLines-tc.head-tc.tail {
				t.Errorf("%s: %d lines left out within", first, got)
			}
		}
	}
	log, _ := readLog(t.Context(), func(context.Context, logRequest) (logEnd, error) {
		return logEnd{text: "starting\npanic: x\n" + strings.Repeat("f\n", maxShortLines+1)}, nil
	}, logRequest{})
	if short := log.Short; len(short) != 1 || short[0].Omitted != 1 || short[0].Lines[0] != "panic: x" {
		t.Errorf("a crash right before the end: %v", log.Short)
	}
}

// TestLinesThatKubeletsDrop: the end of a long log is all that kubelets have, and how many lines precede it is not known.
func TestLinesThatKubeletsDrop(t *testing.T) {
	line := strings.Repeat("x", 89) + "\n"
	for _, tc := range []struct {
		lines int
		file  bool // of a deleted Pod
		want  string
	}{
		{kubeletlogs.MaxBytes / (len(line) + kubeletlogs.LineOverhead), false, "… at least 3,789 lines left out: see there"},
		{3000, false, "… 2,990 lines left out: see there"},
		{kubeletlogs.MaxRemovedBytes / (len(line) + kubeletlogs.LineOverhead), true, "… at least 464 lines left out: see there"},
		{300, true, "… 290 lines left out: see there"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mark := ""
			if tc.file {
				mark = "2026-07-01T12:00:00.000000000Z stdout F "
			}
			fmt.Fprint(w, strings.Repeat(mark+line, tc.lines))
		}))
		newReader := newLogReader
		if tc.file {
			newReader = newDeletedLogReader
		}
		read, err := newReader(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		log, _ := readLog(t.Context(), read, logRequest{namespace: "shop", pod: "web", container: "c", node: "n", runID: "sim://x/c/2"})
		if got := log.Short.text("see there"); got[0] != tc.want {
			t.Errorf("%d lines, deleted %v: %q, want %q", tc.lines, tc.file, got[0], tc.want)
		}
		server.Close()
	}
	whole := excerpt{{Cut: true, Lines: []string{"x"}}}
	if got := whole.text("see there"); got[0] != "… earlier lines may be left out: see there" {
		t.Errorf("%q", got)
	}
}
