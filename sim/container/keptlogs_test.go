package container

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/kubeletlogs"
)

// TestLogIsKept reads the log of a run before and after its Pod is removed.
func TestLogIsKept(t *testing.T) {
	f := newFixture(t)
	pod := newPod("sh", "-c", "echo FATAL no db; exit 3")
	f.start(pod)
	f.await(pod, Ended)
	for _, when := range []string{"before", "after"} {
		if got := texts(f.LogEnd("u", "c", 0)); len(got) != 1 || got[0] != `false "FATAL no db\n"` {
			t.Errorf("%s its removal: %q", when, got)
		}
		f.Remove(pod.UID)
	}
	for _, other := range []struct {
		uid       types.UID
		container string
		number    int32
	}{{"v", "c", 0}, {"u", "d", 0}, {"u", "c", 1}} {
		if got := f.LogEnd(other.uid, other.container, other.number); got != nil {
			t.Errorf("%v has the log %v", other, got)
		}
	}
	f.Stop()
	if got := f.LogEnd("u", "c", 0); got != nil {
		t.Errorf("of a runtime that has stopped: %v", got)
	}
}

// TestNewestKeptLog removes a Pod that a restore has brought back, while its command runs and has begun a line.
func TestNewestKeptLog(t *testing.T) {
	f := newFixture(t)
	for _, text := range []string{"first", "second"} {
		pod := newPod("sh", "-c", "echo up; printf '"+text+"'; sleep 1000")
		f.start(pod)
		f.awaitLine(pod)
		f.awaitPartial(pod, text)
		f.Remove(pod.UID)
		if got := texts(f.LogEnd("u", "c", 0)); len(got) != 2 || got[1] != `false "`+text+`"` {
			t.Errorf("after the removal of the %s: %q", text, got)
		}
	}
}

// awaitPartial waits until the first run of container c has written text without the end of the line.
func (f *fixture) awaitPartial(pod *corev1.Pod, text string) {
	f.t.Helper()
	log := f.Log(pod.UID, "c", 0)
	deadline := time.Now().Add(patience)
	for {
		lines, _ := log.end(kubeletlogs.MaxRemovedBytes)
		if n := len(lines); n > 0 && lines[n-1].Text == text {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("no %q in %v", text, lines)
		}
		runtime.Gosched()
	}
}

// TestKeptLogsAreBounded keeps the end of each log, and the newest logs.
func TestKeptLogsAreBounded(t *testing.T) {
	var k keptLogs
	const n = 3 * maxKeptLogs / kubeletlogs.MaxRemovedBytes
	for i := range n {
		r := &run{name: fmt.Sprint(i)}
		for range 2 * kubeletlogs.MaxRemovedBytes / 1000 {
			fmt.Fprintln(r.log.writer(false), strings.Repeat("x", 999))
		}
		fmt.Fprintln(r.log.writer(false), "the end of", i)
		k.add("u", r)
	}
	k.add("u", &run{}) // without a log
	size := 0
	for _, l := range k.list {
		if last := l.lines[len(l.lines)-1].Text; last != "the end of "+l.container+"\n" {
			t.Errorf("the log of %s ends with %q", l.container, last)
		}
		for _, line := range l.lines {
			size += len(line.Text) + kubeletlogs.LineOverhead
		}
	}
	if first := k.list[0].container; size != k.size || size > maxKeptLogs || size < maxKeptLogs-kubeletlogs.MaxRemovedBytes || first != fmt.Sprint(n-len(k.list)) {
		t.Errorf("%d bytes, counted as %d, of %d logs from %s on", size, k.size, len(k.list), first)
	}
}
