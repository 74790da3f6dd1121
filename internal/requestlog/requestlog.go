// Package requestlog keeps requests out of the log of client-go.
package requestlog

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Discard returns a context for requests whose errors are returned: client-go also logs those of a
// response that ctx has interrupted, and its cache of kinds all of them.
func Discard(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }
