package recording

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// recordedVerbosity is the verbosity up to which every line is recorded. Lines
	// of one more are recorded within a sync only: event handlers are verbose at that level.
	// Those that say that a sync begins or has ended are not recorded; the record of the
	// sync has the key.
	recordedVerbosity = 3
	maxValueLength    = 300 // bytes of an attribute that is not an error
)

// recordingSink is a controller's logger. It records the lines, and passes on
// those that the log's level includes.
type recordingSink struct {
	log      logr.LogSink
	recorder *observe.Recorder
	attrs    []observe.Attr
	key      string // that the attributes name
}

// NewLogger returns a logger for a controller; a nil recorder records nothing.
func NewLogger(h slog.Handler, recorder *observe.Recorder) logr.Logger {
	log := logr.FromSlogHandler(h)
	if recorder == nil {
		return log
	}
	return logr.New(&recordingSink{log: log.GetSink(), recorder: recorder})
}

func (s *recordingSink) Init(logr.RuntimeInfo) {} // the log's own sink is initialized

func (s *recordingSink) Enabled(level int) bool { return isRecorded(level) || s.log.Enabled(level) }

func isRecorded(level int) bool {
	return level <= recordedVerbosity || level == recordedVerbosity+1 && observe.Syncing()
}

func (s *recordingSink) Info(level int, msg string, kv ...any) {
	switch {
	case level == recordedVerbosity+1 && isAboutSync(msg) && !isAboutFailure(msg):
		s.recorder.NameSync(cmp.Or(keyIn(kv), s.key))
	case isRecorded(level) && !isAboutNormalEvent(msg, kv) && !isRepetition(msg, kv):
		s.recordLine(-level, nil, msg, kv)
	}
	if s.log.Enabled(level) {
		s.log.Info(level, msg, kv...)
	}
}

// quietLevel is the verbosity of what is not worth a record.
const quietLevel = recordedVerbosity + 2

func (s *recordingSink) Error(err error, msg string, kv ...any) {
	if errors.As(err, new(prometheus.AlreadyRegisteredError)) { // by an earlier run of the controller in this process
		s.Info(quietLevel, msg, append(kv, "err", err)...)
		return
	}
	s.recordLine(int(slog.LevelError), err, msg, kv)
	s.log.Error(err, msg, kv...)
}

func (s *recordingSink) WithValues(kv ...any) logr.LogSink {
	with := *s
	with.log = s.log.WithValues(kv...)
	with.attrs = s.attrs[:len(s.attrs):len(s.attrs)]
	with.attrs, with.key = parseAttrs(with.attrs, kv, false)
	if with.key == "" {
		with.key = s.key
	}
	return &with
}

func (s *recordingSink) WithName(name string) logr.LogSink {
	with := *s
	with.log = s.log.WithName(name)
	return &with
}

func (s *recordingSink) recordLine(level int, err error, msg string, kv []any) {
	line := &observe.Logged{Level: level, Message: msg}
	line.Attrs = append(make([]observe.Attr, 0, len(s.attrs)+len(kv)/2+1), s.attrs...)
	var key string
	line.Attrs, key = parseAttrs(line.Attrs, kv, isAboutSync(msg))
	if key == "" {
		key = s.key
	}
	if err != nil {
		line.Attrs = append(line.Attrs, attribute("err", err.Error()))
	}
	if len(line.Attrs) == 0 {
		line.Attrs = nil
	}
	s.recorder.RecordLog(line, key, syncFailure(line))
}

// The texts below are upstream's; TestLogTextsOfUpstream compares them with its source.

// isAboutSync reports whether a line is about the sync of a key.
func isAboutSync(msg string) bool {
	return strings.Contains(msg, "yncing") || strings.Contains(msg, "rocessing") ||
		msg == "Synchronizing PersistentVolumeClaim" || msg == "Synchronizing PersistentVolume" ||
		msg == "Re-queuing cronjob" || isAboutCronJobFailure(msg)
}

// isAboutCronJobFailure reports whether a line says that the sync of a CronJob has failed: these have texts of their own.
func isAboutCronJobFailure(msg string) bool {
	return msg == "Error reconciling cronjob" || msg == "Unable to update status for cronjob"
}

// isAboutFailure reports whether an info line says that a sync has failed, also for the last
// time. Some controllers log that at a high verbosity only.
func isAboutFailure(msg string) bool {
	return strings.Contains(msg, "rror syncing") || strings.Contains(msg, "etrying") || strings.Contains(msg, droppedKey) || isAboutCronJobFailure(msg)
}

// droppedKey is part of the lines that say that a controller retries a key no longer.
const droppedKey = "out of the queue"

// eventOccurred is the line of client-go about each Kubernetes Event that a controller sends.
const eventOccurred = "Event occurred"

// isAboutNormalEvent reports whether a line is about an Event of type Normal. The call that creates
// the Event says the same, unless client-go sends none because there were many alike.
func isAboutNormalEvent(msg string, kv []any) bool {
	return msg == eventOccurred && valueOf("type", kv) == corev1.EventTypeNormal
}

// Lines that say what another record says.
const (
	podCreated       = "Controller created pod"                        // the call
	progressDelayed  = "Queueing up deployment for a progress check"   // the sync, which has requeued its key
	progressTimedOut = "Deployment timed out from last progress check" // nothing, unless the deadline has passed
)

// isRepetition reports whether a line says what another record says. There is one for each Pod that is
// created, and two for each sync of a Deployment that is not complete.
func isRepetition(msg string, kv []any) bool {
	switch msg {
	case podCreated, progressDelayed:
		return true
	case progressTimedOut:
		return valueOf("timeout", kv) == false
	}
	return false
}

// valueOf returns the value of an attribute, nil if the line has none of that name.
func valueOf(name string, kv []any) any {
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i] == name {
			return kv[i+1]
		}
	}
	return nil
}

// parseAttrs appends the attributes in kv, and returns the key of the sync that
// they name: the value of "key" or, in a line about a sync, the first one that
// names an object.
func parseAttrs(attrs []observe.Attr, kv []any, aboutSync bool) ([]observe.Attr, string) {
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
		attrs = append(attrs, attribute(name, text))
		switch {
		case object == "" || name == "kind" || name == "err":
		case name == "key":
			key = object
		case aboutSync && first == "":
			first = object
		}
	}
	if key == "" {
		key = first
	}
	return attrs, key
}

// syncFailure returns the error with which a line says that its sync has failed;
// empty if it does not say so.
func syncFailure(l *observe.Logged) string {
	if l.Level < int(slog.LevelError) && !isAboutFailure(l.Message) {
		return ""
	}
	for _, a := range l.Attrs {
		if !isErrorName(a.Key) {
			continue
		}
		if strings.Contains(l.Message, droppedKey) {
			return "dropped " + droppedKey + ": " + a.Value
		}
		return a.Value
	}
	if l.Level < int(slog.LevelError) {
		return ""
	}
	return l.Message
}

// keyIn returns the key that the attributes of a line about a sync name.
func keyIn(kv []any) (first string) {
	for i := 0; i+1 < len(kv); i += 2 {
		if kv[i] == "controller" || kv[i] == "kind" || kv[i] == "err" {
			continue
		}
		object := objectKey(kv[i+1])
		if kv[i] == "key" && object != "" {
			return object
		}
		first = cmp.Or(first, object)
	}
	return first
}

// attribute returns an attribute with as much of its text as is kept. Of an error that is as of the call that it is of, with which
// that of the sync is compared.
func attribute(name, text string) observe.Attr {
	if isErrorName(name) {
		return observe.Attr{Key: name, Value: SyncError(text)}
	}
	return observe.Attr{Key: name, Value: words.Shorten(text, maxValueLength)}
}

func isErrorName(name string) bool { return name == "err" || name == "error" }

// named is an object of the API.
type named interface {
	GetName() string
	GetNamespace() string
}

// objectKey returns the key of the object that a value names, if any.
func objectKey(v any) string {
	switch x := v.(type) {
	case nil, int, bool, time.Duration, time.Time:
		return ""
	case string:
		return x
	case klog.ObjectRef:
		return x.String()
	case named:
		if r := reflect.ValueOf(x); r.Kind() == reflect.Pointer && r.IsNil() {
			return ""
		}
		return klog.KRef(x.GetNamespace(), x.GetName()).String()
	case error:
		return ""
	}
	return objectNameIn(v)
}

// formatValue returns a value as text, and the key of the object that it names,
// if any. Objects are named, not printed.
func formatValue(v any) (text, key string) {
	if key := objectKey(v); key != "" {
		return strings.TrimSpace(kindIn(v) + " " + key), key
	}
	switch x := v.(type) {
	case nil, string, named, klog.ObjectRef: // empty, or objectKey would have named it
		return "", ""
	case int:
		return strconv.Itoa(x), ""
	case bool:
		return strconv.FormatBool(x), ""
	case time.Duration:
		return x.String(), ""
	case time.Time:
		return x.Format(time.RFC3339Nano), ""
	case error:
		return x.Error(), ""
	case logr.Marshaler: // printing its fields would be a data race
		return fmt.Sprint(marshaledValue{x}), ""
	}
	return formatBrief(v), ""
}

// marshaledValue prints the result of MarshalLog. As a Stringer it leaves it to
// fmt to recover from a panic.
type marshaledValue struct{ logr.Marshaler }

func (m marshaledValue) String() string { return formatBrief(m.MarshalLog()) }

// maxNamedObjects is how many objects of a list are named.
const maxNamedObjects = 5

// formatObjects names the objects of a list; "" if it has others, none or many.
func formatObjects(list reflect.Value) string {
	if list.Kind() != reflect.Slice || list.Len() > maxNamedObjects || list.Type().Elem().Kind() != reflect.Interface {
		return ""
	}
	var keys []string
	for i := range list.Len() {
		key := objectKey(list.Index(i).Interface())
		if key == "" {
			return ""
		}
		keys = append(keys, key)
	}
	return strings.Join(keys, ",")
}

// formatBrief prints x, or the names or the number of its elements if these may be long.
func formatBrief(x any) string {
	v := reflect.ValueOf(x)
	if names := formatObjects(v); names != "" {
		return names
	}
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.Type().Elem().Kind() != reflect.String {
		return fmt.Sprintf("%d of %s", v.Len(), v.Type().Elem())
	}
	return fmt.Sprintf("%+v", x)
}

// kindIn returns the kind of a struct that has such a field, as references to objects of any kind do; "" if it has none.
func kindIn(x any) string {
	switch x.(type) {
	case string, klog.ObjectRef, named:
		return ""
	}
	if v := reflect.Indirect(reflect.ValueOf(x)); v.Kind() == reflect.Struct {
		if kind := v.FieldByName("Kind"); kind.IsValid() && kind.Kind() == reflect.String {
			return kind.String()
		}
	}
	return ""
}

// objectNameIn returns NAMESPACE/NAME of a struct that has such fields, as the
// key types of upstream's controllers do.
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
