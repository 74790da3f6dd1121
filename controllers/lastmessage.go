package controllers

import (
	"sync/atomic"

	"github.com/go-logr/logr"
)

// lastMessage is the text of the last line that a listener heard. It is how
// upstream says why a controller declines to run: in its log only.
type lastMessage struct {
	text   atomic.Pointer[string]
	sealed atomic.Bool // nobody will ask any more
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

// lastMessageSink passes lines on and keeps the last one's text.
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
