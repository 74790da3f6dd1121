package ui

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// documentedExamples returns the lines that docs/json.md shows, one of each kind.
func documentedExamples(t *testing.T) []string {
	at := time.Date(2026, 7, 1, 12, 0, 1, 234e6, time.UTC)
	web := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-7d4b9c6f5", UID: "0b7c1c2e-5a0e-4d0c-9a0e-3f6f1f0d2a11"}
	var b bytes.Buffer
	j := NewJSONWriter(&b)
	err := j.WriteHeader(at)
	for i, e := range []observe.Event{
		&observe.BootStep{Step: "etcd", Took: 41 * time.Millisecond},
		&observe.ControllerChanged{Controller: "job-controller", State: "failed", Reason: "jobs.batch is forbidden"},
		&observe.QueueChanged{Controller: "replicaset-controller", Queue: "replicaset", Depth: 3, MaxDepth: 12, InFlight: 5, Adds: 40, Gets: 37, Done: 32, Retries: 1},
		&observe.Delivered{Controller: "replicaset-controller", Change: observe.Added, Object: web, ResourceVersion: "812", Queues: []string{"replicaset"}, Adds: []uint64{40}, Took: 14 * time.Microsecond},
		&observe.Called{Controller: "replicaset-controller", Verb: "update", Object: web, Subresource: "status", Status: 409, Began: at.Add(-3 * time.Millisecond), Took: 3 * time.Millisecond, Conflict: true, Error: "the object has been modified", Sync: 77},
		&observe.Synced{Controller: "replicaset-controller", Queue: "replicaset", ID: 77, Key: "default/web-7d4b9c6f5", KeyBasis: observe.BasisLog, Add: 40, Cause: 4, Sure: true, Waited: 120 * time.Microsecond, Took: 9 * time.Millisecond, Retried: true, Due: at.Add(5 * time.Millisecond), Error: "the object has been modified", Reads: 1, Writes: 4},
		&observe.Logged{Controller: "replicaset-controller", Level: -2, Message: "Too few replicas", Attrs: []observe.Attr{{Key: "need", Value: "3"}, {Key: "creating", Value: "3"}}, Sync: 77},
	} {
		if err == nil {
			err = j.WriteRecord(observe.Record{Seq: uint64(i + 1), Time: at, Event: e})
		}
	}
	if err == nil {
		s := busySnapshot()
		s.Time, s.Queues = at, s.Queues[1:2]
		s.Process.Started = at.Add(-125 * time.Second)
		err = j.WriteSnapshot(t.Context(), s)
	}
	for _, n := range []Notice{
		{Kind: "missed", Missed: 512},
		{Kind: "disconnected", Error: "dial tcp 127.0.0.1:6443: connect: connection refused"},
		{Kind: "connected"}, {Kind: "restarted"},
	} {
		if n.Time = at; err == nil {
			err = j.WriteNotice(n)
		}
	}
	if err == nil {
		err = j.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(b.String()), "\n")
}

// TestJSONMatchesDocumentation compares the output with docs/json.md.
func TestJSONMatchesDocumentation(t *testing.T) {
	data := testutil.ReadFile(t, "../docs/json.md")
	var shown []string
	sections := map[string]string{}
	for _, section := range strings.Split(strings.ReplaceAll(data, "\r\n", "\n"), "\n### ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[strings.Trim(title, "`")] = text
		for line := range strings.Lines(text) {
			if title == "`stateChanged`" || title == "`resources`" {
				continue // of recordings: observe/replay tests them
			}
			if strings.HasPrefix(line, "{") {
				shown = append(shown, strings.TrimSuffix(line, "\n"))
			}
		}
	}
	written := documentedExamples(t)
	if diff := cmp.Diff(shown, written); diff != "" {
		t.Errorf("the examples of docs/json.md differ from what is written: edit them there, or what they are made of, in documentedExamples and "+
			"busySnapshot (-documented +written):\n%s", diff)
	}
	for _, line := range written {
		var o struct{ Kind string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Error(err)
		}
		if _, ok := sections[o.Kind]; !ok {
			t.Errorf("docs/json.md has no section %s for that kind of line", o.Kind)
		}
	}
	for section, v := range map[string]any{
		"ctrlplane": replay.Header{}, "snapshot": snapshotLine{}, "process": observe.Process{}, "queues": observe.Queue{}, "quantiles": observe.Quantiles{}, "object": observe.Object{},
		"bootStep": observe.BootStep{}, "controllerChanged": observe.ControllerChanged{}, "queueChanged": observe.QueueChanged{}, "delivered": observe.Delivered{},
		"called": observe.Called{}, "synced": observe.Synced{}, "logged": observe.Logged{}, "controllers": observe.Controller{}, "clients": observe.Client{},
		"interventions": observe.Interventions{},
	} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(v)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "kind" && section != "object" || name == "time" || name == "-" || name == "" {
				continue // documented for all kinds, or internal
			}
			if !strings.Contains(sections[section], "`"+name+"`") {
				t.Errorf("docs/json.md, section %s, does not mention the field `%s`", section, name)
			}
		}
	}
}

// The lines may be written to a terminal, and have names that clients have chosen.
func TestJSONHasNoControlCharacters(t *testing.T) {
	const name = "a\x1b\u009b31m\u202eb"
	line, err := EncodeLine(observe.Record{Event: &observe.Called{Object: observe.Object{Name: name}}})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsAny(line, "\x1b\u009b\u202e") {
		t.Errorf("%q", line)
	}
	var got struct{ Object observe.Object }
	if err := json.Unmarshal(line, &got); err != nil || got.Object.Name != name {
		t.Errorf("%q, %v", got.Object.Name, err)
	}
}

func TestSnapshotLineKeepsSnapshotUnchanged(t *testing.T) {
	s := busySnapshot()
	newSnapshotLine(s)
	if diff := cmp.Diff(busySnapshot(), s); diff != "" {
		t.Error(diff)
	}
}

func TestJSONRejectsRecordWithoutEvent(t *testing.T) {
	err := NewJSONWriter(io.Discard).WriteRecord(observe.Record{Seq: 3})
	if err == nil || !strings.Contains(err.Error(), "record 3 has no event") {
		t.Errorf("error %v does not name the record", err)
	}
}
