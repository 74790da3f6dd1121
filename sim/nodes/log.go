package nodes

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// withLogger makes client-go write to a logger until ctx ends. After that it only logs that it has ended.
func withLogger(ctx context.Context, log *slog.Logger) context.Context {
	return klog.NewContext(ctx, logr.FromSlogHandler(untilDoneHandler{log.Handler(), ctx}))
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
