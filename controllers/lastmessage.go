package controllers

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// lastMessage is the last line that was logged while a controller was built. If
// the controller declines to run it is the reason: upstream only logs that.
type lastMessage struct {
	text   atomic.Pointer[string]
	sealed atomic.Bool // the controller is built: later lines are ignored
}

func (l *lastMessage) get() string {
	if t := l.text.Load(); t != nil {
		return *t
	}
	return "declined to run"
}

func (l *lastMessage) set(msg string) {
	if !l.sealed.Load() {
		l.text.Store(new(msg))
	}
}

// lastMessageSink passes lines on, and keeps the text of the last one.
type lastMessageSink struct {
	logr.LogSink
	last *lastMessage
}

func (l lastMessageSink) Enabled(level int) bool { return level <= 0 || l.LogSink.Enabled(level) }

func (l lastMessageSink) Info(level int, msg string, kv ...any) {
	l.last.set(msg)
	if l.LogSink.Enabled(level) {
		l.LogSink.Info(level, msg, kv...)
	}
}

func (l lastMessageSink) Error(err error, msg string, kv ...any) {
	l.last.set(msg)
	l.LogSink.Error(err, msg, kv...)
}

func (l lastMessageSink) WithValues(kv ...any) logr.LogSink {
	return lastMessageSink{l.LogSink.WithValues(kv...), l.last}
}

func (l lastMessageSink) WithName(name string) logr.LogSink {
	return lastMessageSink{l.LogSink.WithName(name), l.last}
}
