package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	kwoklog "sigs.k8s.io/kwok/pkg/log"
)

// withLogger makes client-go and kwok write to one logger until ctx ends. After that
// they only log that it has ended. stageFailed receives the errors of stages that kwok plays.
func withLogger(ctx context.Context, log *slog.Logger, stageFailed func(stageFailure)) context.Context {
	log = slog.New(untilDoneHandler{log.Handler(), ctx})
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	return kwoklog.NewContext(ctx, kwoklog.NewLogger(kwokLogWriter{log, stageFailed}, kwoklog.LevelWarn))
}

// stageFailure says that kwok cannot play the stage of a user. kwok only logs that.
type stageFailure struct {
	pod, node string // the key of the object; one of them is empty, unless the node is that of the Pod
	stage     string // the name of the Stage
	err       string
}

// kwokLogWriter parses the lines of kwok's logger, which can write only JSON.
type kwokLogWriter struct {
	log         *slog.Logger
	stageFailed func(stageFailure)
}

func (l kwokLogWriter) Write(line []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, fmt.Errorf("log line of kwok: %w", err)
	}
	level := slog.LevelWarn
	if fields[slog.LevelKey] == slog.LevelError.String() {
		level = slog.LevelError
	}
	text := func(key string) string { value, _ := fields[key].(string); return value }
	stage, ofUser := strings.CutPrefix(text("stage"), userPrefix)
	switch cause := text("err"); {
	case isStaleObjectError(cause):
		level = slog.LevelDebug
	case ofUser && cause != "":
		l.stageFailed(stageFailure{pod: text("pod"), node: text("node"), stage: stage, err: cause})
	}
	var attrs []slog.Attr
	for key, value := range fields {
		switch key {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
		default:
			attrs = append(attrs, slog.Any(key, value))
		}
	}
	l.log.LogAttrs(context.Background(), level, "kwok: "+text(slog.MessageKey), attrs...)
	return len(line), nil
}

// isStaleObjectError reports whether an error means that the object to be written
// has been deleted, or its node is not live. kwok passes on only the text of errors
// (TestStaleObjectErrorTexts).
func isStaleObjectError(cause string) bool {
	return strings.HasSuffix(cause, " not found") || strings.HasSuffix(cause, notLiveSuffix) || strings.Contains(cause, "UID in precondition")
}

type untilDoneHandler struct {
	slog.Handler
	ctx context.Context
}

func (h untilDoneHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.ctx.Err() != nil {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h untilDoneHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return untilDoneHandler{h.Handler.WithAttrs(attrs), h.ctx}
}

func (h untilDoneHandler) WithGroup(name string) slog.Handler {
	return untilDoneHandler{h.Handler.WithGroup(name), h.ctx}
}
