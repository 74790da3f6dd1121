package controllers

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// narrationLevel is the most detailed level that is taken down: klog's V(4),
	// at which controllers say which key they have synced.
	narrationLevel = slog.Level(-4)
	maxValue       = 300 // bytes of an attribute
)

// narrator takes down a controller's own log lines, and hands on those that the
// log wants.
type narrator struct {
	next  slog.Handler
	by    *observe.Recorder
	attrs []attr
}

// attr is an attribute of a log line. key is set where its value is an object's
// name or a string.
type attr struct {
	observe.Attr
	key string
}

// narrated wraps h; a nil recorder leaves it as it is.
func narrated(h slog.Handler, by *observe.Recorder) slog.Handler {
	if by == nil {
		return h
	}
	return narrator{next: h, by: by}
}

func (n narrator) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= narrationLevel || n.next.Enabled(ctx, level)
}

func (n narrator) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= narrationLevel {
		attrs := n.attrs[:len(n.attrs):len(n.attrs)]
		r.Attrs(func(a slog.Attr) bool {
			attrs = append(attrs, readAttr(a))
			return true
		})
		line := &observe.Logged{Level: int(r.Level), Message: r.Message}
		for _, a := range attrs {
			if a.Key != "logger" && a.Key != "controller" {
				line.Attrs = append(line.Attrs, a.Attr)
			}
		}
		n.by.Logged(line, syncKey(r.Message, attrs), failure(line))
	}
	if !n.next.Enabled(ctx, r.Level) {
		return nil
	}
	return n.next.Handle(ctx, r)
}

func (n narrator) WithAttrs(attrs []slog.Attr) slog.Handler {
	n.next = n.next.WithAttrs(attrs)
	n.attrs = n.attrs[:len(n.attrs):len(n.attrs)]
	for _, a := range attrs {
		n.attrs = append(n.attrs, readAttr(a))
	}
	return n
}

func (n narrator) WithGroup(name string) slog.Handler {
	n.next = n.next.WithGroup(name)
	return n
}

// syncKey is the key that a line about a sync is about: the attribute called
// key or, in a line that says so, the first that names an object.
func syncKey(message string, attrs []attr) string {
	about := strings.Contains(message, "yncing") || strings.Contains(message, "rocessing")
	first := ""
	for _, a := range attrs {
		switch {
		case a.key == "" || a.Key == "kind" || a.Key == "logger" || a.Key == "controller" || a.Key == "err":
		case a.Key == "key":
			return a.key
		case about && first == "":
			first = a.key
		}
	}
	return first
}

// failure is what a line says that its sync failed with; empty if it does not.
// Some controllers say so at a high verbosity only.
func failure(l *observe.Logged) string {
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

func readAttr(a slog.Attr) attr {
	v := a.Value.Resolve()
	text, key := readValue(v)
	if len(text) > maxValue {
		text = text[:maxValue] + "…"
	}
	return attr{observe.Attr{Key: a.Key, Value: text}, key}
}

// readValue renders a value. Objects are named, not printed.
func readValue(v slog.Value) (text, key string) {
	switch v.Kind() {
	case slog.KindString:
		return v.String(), v.String()
	case slog.KindGroup: // what klog makes of an object reference
		if name := refIn(v.Group()); name != "" {
			return name, name
		}
		return v.String(), ""
	case slog.KindAny:
	default:
		return v.String(), ""
	}
	switch x := v.Any().(type) {
	case nil:
		return "", ""
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
		if name := nameIn(x); name != "" {
			return name, name
		}
		return brief(x), ""
	}
}

// refIn is the key of a group that has nothing but a name and a namespace.
func refIn(group []slog.Attr) string {
	var name, namespace string
	for _, a := range group {
		switch a.Key {
		case "name":
			name = a.Value.String()
		case "namespace":
			namespace = a.Value.String()
		default:
			return ""
		}
	}
	return klog.KRef(namespace, name).String()
}

// brief prints x, or how many there are where it holds what may be long.
func brief(x any) string {
	v := reflect.ValueOf(x)
	if k := v.Kind(); (k == reflect.Slice || k == reflect.Map) && v.Type().Elem().Kind() != reflect.String {
		return fmt.Sprintf("%d of %s", v.Len(), v.Type().Elem())
	}
	return fmt.Sprint(x)
}

// nameIn finds NAMESPACE/NAME in a struct that has such fields, as upstream's
// own keys have.
func nameIn(x any) string {
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
