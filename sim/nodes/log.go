package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
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

// stageFailure says that kwok cannot play the stage of a user. kwok only logs that, with stageFailedMessage.
type stageFailure struct {
	pod, node string // the key of the object; one of them is empty
	stage     string // the name of the Stage
	err       string
}

const stageFailedMessage = "failed to apply stage"

// isStale reports whether the object was deleted, or its node is not live: the stage is not to be played any more. Other
// objects that the stage needs may be missing, too.
func (f stageFailure) isStale() bool {
	_, name, _ := strings.Cut(f.pod, "/")
	gone := fmt.Sprintf("pods %q not found", name)
	if f.pod == "" {
		gone = fmt.Sprintf("nodes %q not found", f.node)
	}
	return strings.HasSuffix(f.err, gone) || isReplacedOrNotLive(f.err)
}

// isRetried reports whether kwok plays the stage again after the error (TestRetriedErrorTexts).
func (f stageFailure) isRetried() bool {
	if strings.Contains(f.err, "Internal error occurred: ") { // it may quote such an error, as of a webhook
		return false
	}
	return slices.ContainsFunc([]string{
		"connection refused", "Timeout: ", "unable to return a response in the time allotted", "could not be completed at this time",
		"currently unable to handle the request", "oo many requests",
	}, func(text string) bool { return strings.Contains(f.err, text) })
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
	failure := stageFailure{pod: text("pod"), node: text("node"), stage: stage, err: text("err")}
	switch isFailure := ofUser && text(slog.MessageKey) == stageFailedMessage; {
	case isFailure && failure.isStale(), !isFailure && isStaleObjectError(failure.err):
		level = slog.LevelDebug
	case isFailure:
		l.stageFailed(failure)
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
