package controllers

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// lastMessage is the text of the last line that a listener heard. It is how
// upstream says why a controller declines to run: in its log only.
type lastMessage struct {
	text   atomic.Pointer[string]
	enough atomic.Bool // nobody will ask any more
}

func (l *lastMessage) get() string {
	if t := l.text.Load(); t != nil {
		return *t
	}
	return "declined to run"
}

func (l *lastMessage) hear(msg string) {
	if !l.enough.Load() {
		l.text.Store(new(msg))
	}
}

// listener passes lines on and keeps the last one's text.
type listener struct {
	logr.LogSink
	last *lastMessage
}

func (l listener) Enabled(level int) bool { return level <= 0 || l.LogSink.Enabled(level) }

func (l listener) Info(level int, msg string, kv ...any) {
	l.last.hear(msg)
	if l.LogSink.Enabled(level) {
		l.LogSink.Info(level, msg, kv...)
	}
}

func (l listener) Error(err error, msg string, kv ...any) {
	l.last.hear(msg)
	l.LogSink.Error(err, msg, kv...)
}

func (l listener) WithValues(kv ...any) logr.LogSink {
	return listener{l.LogSink.WithValues(kv...), l.last}
}

func (l listener) WithName(name string) logr.LogSink {
	return listener{l.LogSink.WithName(name), l.last}
}
