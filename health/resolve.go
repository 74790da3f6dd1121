package health

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// ErrNoAnswer is wrapped by the error of Refs if the API server accepts requests, if at all, but
// does not answer them.
var ErrNoAnswer = errors.New("no answer from the API server")

// newKindGrace is how long it may take until a new kind is served.
const newKindGrace = 2 * time.Second

// Refs returns the objects that are named as KIND/NAME, with kinds as in kubectl:
// "deploy/web", "pods/a", "Widget.example.com/w". An unknown kind may have been defined
// just now, so Refs retries for 2 s, and until ctx ends while an APIService of its group, if it names that, is not available.
func (w *Waiter) Refs(ctx context.Context, namespace string, args []string) ([]Ref, error) {
	mapper := kinds.NewMapper(w.kinds)
	refs := make([]Ref, len(args))
	if err := CheckArgs(args); err != nil {
		return nil, err
	}
	for i, arg := range args {
		kind, name, _ := strings.Cut(arg, "/")
		m, err := w.waitForMapping(ctx, mapper, kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
		refs[i] = Ref{m.GroupVersionKind, namespace, name}
		if m.Scope.Name() == meta.RESTScopeNameRoot {
			refs[i].Namespace = ""
		}
	}
	return refs, nil
}

// CheckArgs returns a usage error for an argument that Refs cannot accept.
func CheckArgs(args []string) error {
	for _, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
			return usage.Errorf("%q is not of the form KIND/NAME, such as deployment/web", arg)
		}
	}
	return nil
}

// waitForMapping retries until the server serves the kind or newKindGrace is over, or ctx ends while an APIService of the group
// that the kind names is not available.
func (w *Waiter) waitForMapping(ctx context.Context, mapper kinds.Mapper, kind string) (*meta.RESTMapping, error) {
	bounded, cancel := context.WithTimeout(ctx, newKindGrace)
	defer cancel()
	for unknown, pause := false, newBackoff(); ; sleep.For(firstLive(bounded, ctx), pause.Step()) {
		m, err := mapper.Find(ctx, kind)
		lost, isLost := errors.AsType[*url.Error](err)
		switch {
		case unknown:
		case errors.Is(ctx.Err(), context.DeadlineExceeded) && (isLost || errors.Is(err, ctx.Err())):
			return nil, fmt.Errorf("%w: %w", ErrNoAnswer, context.Cause(ctx))
		case isLost && lost.Timeout():
			mapper.Reset(ctx)
			continue
		}
		if !meta.IsNoMatchError(err) && (ctx.Err() == nil || !unknown) {
			return m, err
		}
		if unknown = true; bounded.Err() != nil {
			why, isAwaited := w.explainUnknown(ctx, mapper, kind, "correct the name or install its CustomResourceDefinition")
			switch {
			case errors.Is(ctx.Err(), context.Canceled):
				return nil, fmt.Errorf("unknown kind %s: %w", kind, context.Cause(ctx))
			case !isAwaited:
				return nil, usage.Errorf("unknown kind %s: %s", kind, why)
			case ctx.Err() != nil:
				return nil, fmt.Errorf("unknown kind %s: %w: %s", kind, context.Cause(ctx), why)
			}
		}
		mapper.Reset(ctx)
	}
}

// firstLive returns the first context, unless it has ended: then the other one.
func firstLive(first, other context.Context) context.Context {
	if first.Err() == nil {
		return first
	}
	return other
}
