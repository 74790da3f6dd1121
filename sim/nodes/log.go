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
// they only log that it has ended.
func withLogger(ctx context.Context, log *slog.Logger, stages stageObserver) context.Context {
	log = slog.New(untilDoneHandler{log.Handler(), ctx})
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	return kwoklog.NewContext(ctx, kwoklog.NewLogger(kwokLogWriter{log, stages}, kwoklog.LevelInfo))
}

// What kwok logs about stages, which it reports in no other way.
const stageFailedMessage, stageRetriedMessage = "failed to apply stage", "retrying for failed job"

// kwokLogWriter parses the lines of kwok's logger, which can write only JSON. It passes on warnings and errors.
type kwokLogWriter struct {
	log    *slog.Logger
	stages stageObserver
}

func (l kwokLogWriter) Write(line []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		return 0, fmt.Errorf("log line of kwok: %w", err)
	}
	text := func(key string) string { value, _ := fields[key].(string); return value }
	stage, ofUser := strings.CutPrefix(text("stage"), userPrefix)
	played, message, cause := playedStage{text("pod"), text("node"), stage}, text(slog.MessageKey), text("err")
	level := slog.LevelWarn
	switch text(slog.LevelKey) {
	case slog.LevelInfo.String():
		if retries, ok := fields["retry"].(float64); ok && ofUser && message == stageRetriedMessage {
			l.stages.stageRetried(played, retries)
		}
		return len(line), nil
	case slog.LevelError.String():
		level = slog.LevelError
	}
	switch isFailure := ofUser && message == stageFailedMessage; {
	case isFailure && played.isGone(cause), !isFailure && isStaleObjectError(cause):
		level = slog.LevelDebug
	case isFailure:
		l.stages.stageFailed(played, cause)
	}
	var attrs []slog.Attr
	for key, value := range fields {
		switch key {
		case slog.TimeKey, slog.LevelKey, slog.MessageKey, slog.SourceKey:
		default:
			attrs = append(attrs, slog.Any(key, value))
		}
	}
	l.log.LogAttrs(context.Background(), level, "kwok: "+message, attrs...)
	return len(line), nil
}

// isStaleObjectError reports whether an error means that the object to be written
// has been deleted, or its node is not live. kwok passes on only the text of errors
// (TestStaleObjectErrorTexts).
func isStaleObjectError(cause string) bool {
	return strings.HasSuffix(cause, " not found") || isReplacedOrNotLive(cause)
}

func isReplacedOrNotLive(cause string) bool {
	return strings.HasSuffix(cause, notLiveSuffix) || strings.Contains(cause, "UID in precondition")
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
