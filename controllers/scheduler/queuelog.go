package scheduler

import (
	"cmp"
	"log/slog"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// What upstream logs when it moves a Pod between its queues. Nothing else shows which
// Pods an event has made schedulable.
const (
	movedEntity = "Entity moved to an internal scheduling queue" // at movedVerbosity
	movedPod    = "Pod moved to an internal scheduling queue"    // after an attempt, at attemptVerbosity

	gatedEntity = movedEntity + ", because it is gated"

	attemptVerbosity, movedVerbosity = 3, 5

	activeQueue        = "active"
	unschedulableQueue = "unschedulable"
	gatedQueue         = "gated" // a part of upstream's unschedulable queue
)

// attemptFailed is upstream's line about a Pod that fits no node, which recordFailure
// records with the plugins.
const attemptFailed = "Unable to schedule pod; no "

// preemptionFailed is upstream's line about an error of a PostFilter plugin, which
// recordFailure records with the reasons of the others. As the error of the attempt it
// would hide them.
const preemptionFailed = "Status after running PostFilter plugins for pod"

// recordedVerbosity is that of the lines that are recorded. More of them are about
// each Pod than is worth keeping.
const recordedVerbosity = 2

// queueLog is the log of the scheduler. It reports to cycles which Pods are moved
// between the queues.
type queueLog struct {
	plain, recorded logr.LogSink
	cycles          *cycles
	parent          *queueLog // of which this is a named one; plain and recorded are nil until sinks is called
	name            string
	named           sync.Map // the logs that WithName has returned: the names of plugins, again and again
}

// newLogger returns the logger of the scheduler; without a recorder, it logs only.
func (c *cycles) newLogger(h slog.Handler) logr.Logger {
	if c.recorder == nil {
		return logr.FromSlogHandler(h)
	}
	return logr.New(&queueLog{plain: logr.FromSlogHandler(h).GetSink(), recorded: recording.NewLogger(h, c.recorder).GetSink(), cycles: c})
}

// sinks returns the sinks with the names that were given. The scheduler names its logger
// for each Pod, node and plugin, but hardly ever logs with it.
func (l *queueLog) sinks() (plain, recorded logr.LogSink) {
	if l.parent == nil {
		return l.plain, l.recorded
	}
	plain, recorded = l.parent.sinks()
	return plain.WithName(l.name), recorded.WithName(l.name)
}

// enabled reports whether the log itself includes a level, which no name changes.
func (l *queueLog) enabled(level int) bool {
	for l.parent != nil {
		l = l.parent
	}
	return l.plain.Enabled(level)
}

func (l *queueLog) Init(logr.RuntimeInfo) {} // the sinks are initialized

// Enabled includes what is logged when Pods move. An attempt logs where it moves its
// Pod at a lower verbosity than everything else: plugins are verbose at that of the
// others.
func (l *queueLog) Enabled(level int) bool {
	return level <= attemptVerbosity || level == movedVerbosity && !observe.Syncing() || l.enabled(level)
}

func (l *queueLog) Info(level int, msg string, kv ...any) {
	switch msg {
	case movedEntity, movedPod:
		l.reportMove(kv, "")
	case gatedEntity:
		l.reportMove(kv, gatedQueue)
	}
	if level <= recordedVerbosity && !strings.HasPrefix(msg, attemptFailed) {
		_, recorded := l.sinks()
		recorded.Info(level, msg, kv...)
		return
	}
	if l.enabled(level) {
		plain, _ := l.sinks()
		plain.Info(level, msg, kv...)
	}
}

// reportMove reports a move to the queue that a line names, or to another one.
func (l *queueLog) reportMove(kv []any, other string) {
	var key, queue string
	for i := 0; i+1 < len(kv); i += 2 {
		switch v := kv[i+1].(type) {
		case klog.ObjectRef:
			if kv[i] == "entity" || kv[i] == "pod" {
				key = v.String()
			}
		case string:
			if kv[i] == "queue" {
				queue = strings.ToLower(v)
			}
		}
	}
	if key != "" && queue != "" {
		l.cycles.moved(key, cmp.Or(other, queue))
	}
}

func (l *queueLog) Error(err error, msg string, kv ...any) {
	plain, recorded := l.sinks()
	if msg == preemptionFailed {
		plain.Error(err, msg, kv...)
		return
	}
	recorded.Error(err, msg, kv...)
}

func (l *queueLog) WithValues(kv ...any) logr.LogSink {
	plain, recorded := l.sinks()
	return &queueLog{plain: plain.WithValues(kv...), recorded: recorded.WithValues(kv...), cycles: l.cycles}
}

func (l *queueLog) WithName(name string) logr.LogSink {
	if known, ok := l.named.Load(name); ok {
		return known.(*queueLog)
	}
	known, _ := l.named.LoadOrStore(name, &queueLog{cycles: l.cycles, parent: l, name: name})
	return known.(*queueLog)
}
