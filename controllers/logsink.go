package controllers

import (
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// recordedVerbosity are the lines up to this verbosity that are taken down wherever
	// they come from; those of one more, at which controllers say which key they
	// have synced, only from a sync: event handlers are chatty there.
	recordedVerbosity = 3
	maxValueLength    = 300 // bytes of an attribute
)

// recordingSink is a controller's logger. It takes its lines down, and hands on those
// that the log wants.
type recordingSink struct {
	log      logr.LogSink
	recorder *observe.Recorder
	attrs    []observe.Attr
	key      string // that the attributes name
}

// NewLogger returns a logger for a controller; a nil recorder takes nothing down.
func NewLogger(h slog.Handler, by *observe.Recorder) logr.Logger {
	log := logr.FromSlogHandler(h)
	if by == nil {
		return log
	}
	return logr.New(&recordingSink{log: log.GetSink(), recorder: by})
}

func (n *recordingSink) Init(logr.RuntimeInfo) {} // the log's sink has been

func (n *recordingSink) Enabled(level int) bool { return isRecorded(level) || n.log.Enabled(level) }

func isRecorded(level int) bool {
	return level <= recordedVerbosity || level == recordedVerbosity+1 && observe.Syncing()
}

func (n *recordingSink) Info(level int, msg string, kv ...any) {
	if isRecorded(level) {
		n.record(-level, nil, msg, kv)
	}
	if n.log.Enabled(level) {
		n.log.Info(level, msg, kv...)
	}
}

func (n *recordingSink) Error(err error, msg string, kv ...any) {
	n.record(int(slog.LevelError), err, msg, kv)
	n.log.Error(err, msg, kv...)
}

func (n *recordingSink) WithValues(kv ...any) logr.LogSink {
	with := *n
	with.log = n.log.WithValues(kv...)
	with.attrs = n.attrs[:len(n.attrs):len(n.attrs)]
	with.attrs, with.key = parseAttrs(with.attrs, kv, false)
	if with.key == "" {
		with.key = n.key
	}
	return &with
}

func (n *recordingSink) WithName(name string) logr.LogSink {
	with := *n
	with.log = n.log.WithName(name)
	return &with
}

// record takes a line down.
func (n *recordingSink) record(level int, err error, msg string, kv []any) {
	line := &observe.Logged{Level: level, Message: msg}
	line.Attrs = append(make([]observe.Attr, 0, len(n.attrs)+len(kv)/2+1), n.attrs...)
	about := strings.Contains(msg, "yncing") || strings.Contains(msg, "rocessing")
	var key string
	line.Attrs, key = parseAttrs(line.Attrs, kv, about)
	if key == "" {
		key = n.key
	}
	if err != nil {
		line.Attrs = append(line.Attrs, observe.Attr{Key: "err", Value: truncate(err.Error())})
	}
	if len(line.Attrs) == 0 {
		line.Attrs = nil
	}
	n.recorder.RecordLog(line, key, syncFailure(line))
}

// parseAttrs appends attributes, and tells the key of a sync that they name: the one
// called key or, if the line is about a sync, the first that names an object.
func parseAttrs(attrs []observe.Attr, kv []any, about bool) ([]observe.Attr, string) {
	var key, first string
	for i := 0; i+1 < len(kv); i += 2 {
		name, ok := kv[i].(string)
		if !ok {
			name = fmt.Sprint(kv[i])
		}
		if name == "controller" {
			continue
		}
		text, object := formatValue(kv[i+1])
		attrs = append(attrs, observe.Attr{Key: name, Value: truncate(text)})
		switch {
		case object == "" || name == "kind" || name == "err":
		case name == "key":
			key = object
		case about && first == "":
			first = object
		}
	}
	if key == "" {
		key = first
	}
	return attrs, key
}

// syncFailure is what a line says that its sync failed with; empty if it does not.
// Some controllers say so at a high verbosity only.
func syncFailure(l *observe.Logged) string {
	if l.Level < int(slog.LevelError) && !strings.Contains(l.Message, "rror syncing") && !strings.Contains(l.Message, "etrying") {
		return ""
	}
	for _, a := range l.Attrs {
		if a.Key == "err" || a.Key == "error" {
			return a.Value
		}
	}
	if l.Level < int(slog.LevelError) {
		return ""
	}
	return l.Message
}

func truncate(s string) string {
	if len(s) > maxValueLength {
		return s[:maxValueLength] + "…"
	}
	return s
}

// formatValue renders a value, and tells the key that it is or names. Objects are
// named, not printed.
func formatValue(v any) (text, key string) {
	switch x := v.(type) {
	case nil:
		return "", ""
	case string:
		return x, x
	case klog.ObjectRef:
		name := x.String()
		return name, name
	case int:
		return strconv.Itoa(x), ""
	case bool:
		return strconv.FormatBool(x), ""
	case time.Duration:
		return x.String(), ""
	case time.Time:
		return x.Format(time.RFC3339Nano), ""
	case interface {
		GetName() string
		GetNamespace() string
	}:
		if r := reflect.ValueOf(x); r.Kind() == reflect.Pointer && r.IsNil() {
			return "", ""
		}
		name := klog.KRef(x.GetNamespace(), x.GetName()).String()
		return name, name
	case error:
		return x.Error(), ""
	default:
		if name := objectNameIn(x); name != "" {
			return name, name
		}
		if m, ok := x.(logr.Marshaler); ok { // its fields may change meanwhile
			return fmt.Sprint(marshaledValue{m}), ""
		}
		return formatBrief(x), ""
	}
}

// marshaledValue prints what a value wants logs to say of it. Fmt tells of a panic.
type marshaledValue struct{ logr.Marshaler }

func (m marshaledValue) String() string { return formatBrief(m.MarshalLog()) }

// formatBrief prints x, or how many there are where it holds what may be long.
func formatBrief(x any) string {
	v := reflect.ValueOf(x)
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.Type().Elem().Kind() != reflect.String {
		return fmt.Sprintf("%d of %s", v.Len(), v.Type().Elem())
	}
	return fmt.Sprintf("%+v", x)
}

// objectNameIn finds NAMESPACE/NAME in a struct that has such fields, as upstream's
// own keys have.
func objectNameIn(x any) string {
	v := reflect.Indirect(reflect.ValueOf(x))
	if v.Kind() != reflect.Struct {
		return ""
	}
	name, namespace := v.FieldByName("Name"), v.FieldByName("Namespace")
	if !name.IsValid() || name.Kind() != reflect.String || !namespace.IsValid() || namespace.Kind() != reflect.String {
		return ""
	}
	return klog.KRef(namespace.String(), name.String()).String()
}
