package ui

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

var noon = time.Date(2026, 7, 1, 12, 0, 1, 234e6, time.Local)

func TestFormatRecord(t *testing.T) {
	replicaSet := observe.Object{Group: "apps", Resource: "replicasets", Kind: "ReplicaSet", Namespace: "default", Name: "web-7d4b"}
	for _, tt := range []struct {
		name  string
		event observe.Event
		want  string
	}{
		{"boot step", &observe.BootStep{Step: "etcd", Took: 41 * time.Millisecond}, "start  etcd  41ms"},
		{"boot step that failed", &observe.BootStep{Step: "etcd", Took: time.Second, Error: "no\nspace"}, "start  etcd  1.0s  no space"},
		{"controller", &observe.ControllerChanged{Controller: "job-controller", State: "running"}, "job-controller  is running"},
		{"controller with a reason", &observe.ControllerChanged{Controller: "job-controller", State: "off", Reason: "stopped"}, "job-controller  is off  stopped"},
		{"queue", &observe.QueueChanged{Controller: "deployment-controller", Queue: "deployment", Depth: 3, MaxDepth: 12, InFlight: 2, Adds: 40, Gets: 36, Done: 34, Retries: 1},
			"deployment-controller  queue  deployment  depth 3 (max 12), in flight 2, adds 40, done 34, retries 1"},
		{"delivered", &observe.Delivered{Controller: "deployment-controller", Change: observe.Updated, Object: replicaSet, Queues: []string{"deployment"}, Took: 3 * time.Microsecond},
			"deployment-controller  updated  ReplicaSet default/web-7d4b  queued in deployment  <1ms"},
		{"delivered without enqueuing", &observe.Delivered{Controller: "deployment-controller", Change: observe.Resynced, Object: replicaSet},
			"deployment-controller  resynced  ReplicaSet default/web-7d4b  <1ms"},
		{"delivered to several", &observe.Delivered{Controller: "job-controller", AlsoTo: []string{"a", "b"}, Change: observe.Added, Object: replicaSet},
			"job-controller and 2 others  added  ReplicaSet default/web-7d4b  <1ms"},
		{"write", &observe.Called{Controller: "deployment-controller", Verb: "create", Object: replicaSet, Status: 201, Took: 3 * time.Millisecond},
			"deployment-controller  create  ReplicaSet default/web-7d4b  201  3ms"},
		{"subresource", &observe.Called{Controller: "replicaset-controller", Verb: "update", Object: replicaSet, Subresource: "status", Status: 200, Took: 2 * time.Millisecond},
			"replicaset-controller  update  ReplicaSet default/web-7d4b (status)  200  2ms"},
		{"conflict", &observe.Called{Controller: "replicaset-controller", Verb: "update", Object: replicaSet, Status: 409, Took: time.Millisecond, Conflict: true},
			"replicaset-controller  update  ReplicaSet default/web-7d4b  409  1ms  conflict"},
		{"conflict with a message", &observe.Called{Controller: "replicaset-controller", Verb: "update", Object: replicaSet, Status: 409, Took: time.Millisecond, Conflict: true, Error: "modified"},
			"replicaset-controller  update  ReplicaSet default/web-7d4b  409  1ms  conflict: modified"},
		{"no response", &observe.Called{Controller: "replicaset-controller", Verb: "list", Object: observe.Object{Resource: "pods"}, Took: 90 * time.Second, Error: "timeout"},
			"replicaset-controller  list  pods  no response  1m30s  timeout"},
		{"sync", &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisLog, Took: 12 * time.Millisecond, Writes: 1},
			"deployment-controller  sync  deployment: default/web  done  12ms"},
		{"failed sync", &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Key: "default/web", KeyBasis: observe.BasisCall, Took: 12 * time.Millisecond, Retried: true, Error: "forbidden: \x1b[31mquota\x1b[0m"},
			"deployment-controller  sync  deployment: likely default/web  failed, will retry  12ms  forbidden: [31mquota[0m"},
		{"failed sync without retry", &observe.Synced{Controller: "deployment-controller", Queue: "deployment", Took: time.Millisecond, Error: "gone"},
			"deployment-controller  sync  deployment: unknown key  failed  1ms  gone"},
		{"retry", &observe.Synced{Queue: "job", Key: "default/pi", Took: time.Millisecond, Retried: true}, "sync  job: default/pi  will retry  1ms"},
		{"speed", &observe.Logged{Controller: "ctrlplane", Level: 0, Message: "speed: ½×, was 1×", Attrs: []observe.Attr{{Key: "speed", Value: "1/2"}}},
			"ctrlplane  info  speed: ½×, was 1×"},
		{"log", &observe.Logged{Controller: "replicaset-controller", Level: -2, Message: "Too few replicas", Attrs: []observe.Attr{{Key: "replicaSet", Value: "default/web-7d4b"}, {Key: "need", Value: "3"}, {Key: "why", Value: `new "one"`}}},
			`replicaset-controller  debug  Too few replicas  replicaSet=default/web-7d4b need=3 why="new \"one\""`},
		{"info", &observe.Logged{Controller: "c", Message: "Starting"}, "c  info  Starting"},
		{"warning", &observe.Logged{Controller: "c", Level: 4, Message: "Slow"}, "c  warning  Slow"},
		{"error", &observe.Logged{Controller: "c", Level: 8, Message: "Failed\r\nbadly"}, "c  error  Failed badly"},
		{"nothing", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := "12:00:01.234"
			if tt.want != "" {
				want += "  " + tt.want
			}
			if got := FormatRecord(observe.Record{Seq: 1, Time: noon, Event: tt.event}); got != want {
				t.Errorf("%q\nwant %q", got, want)
			}
		})
	}
}
