package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// startLines are lines of "up --ui json --timings", shortened.
const startLines = `{"kind":"ctrlplane","version":1,"time":"2026-07-01T12:00:01.3Z"}
{"seq":1,"time":"2026-07-01T12:00:00.052Z","kind":"bootStep","step":"data folder","tookNanos":2000000}
{"seq":2,"time":"2026-07-01T12:00:00.090Z","kind":"bootStep","step":"etcd","tookNanos":35000000}
{"seq":3,"time":"2026-07-01T12:00:00.095Z","kind":"controllerChanged","controller":"job-controller","state":"running"}
{"seq":4,"time":"2026-07-01T12:00:00.600Z","kind":"bootStep","step":"API <server>","tookNanos":540000000}
{"seq":5,"time":"2026-07-01T12:00:00.701Z","kind":"bootStep","step":"process","tookNanos":40000000}
{"seq":6,"time":"2026-07-01T12:00:00.702Z","kind":"bootStep","step":"start","tookNanos":702000000}
{"seq":7,"time":"2026-07-01T12:00:09.000Z","kind":"bootStep","step":"later","tookNanos":1}
`

func TestReadStartProfile(t *testing.T) {
	p, err := readStartProfile(strings.NewReader(startLines))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.steps {
		got = append(got, s.Step+" at "+s.began().Sub(p.total.began()).String())
	}
	want := []string{"process at 0s", "data folder at 50ms", "etcd at 55ms", "API <server> at 60ms"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	p.version, p.cpu = "ctrlplane v0.1.0", 950*time.Millisecond
	testutil.Golden(t, "testdata/start.svg.golden", []byte(requireXML(t, p.drawTimeline())))
}

func TestReadStartProfileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":               "the output has no step for the total",
		"not json\n":     "not json",
		startLines[:330]: "unexpected end",
	} {
		if _, err := readStartProfile(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q in it", text, err, want)
		}
	}
}
