package learn

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ctrlplane/ctrlplane/internal/neterror"
)

// restartGrace is how long a control plane may not answer, as while the reader starts it
// again, before the lesson ends.
const restartGrace = time.Minute

// isUnreachable reports whether an error says that the control plane is not running, or has
// just begun to: it refuses all requests before it has read its RBAC policy.
func isUnreachable(err error) bool {
	return neterror.IsRefused(err) || neterror.IsReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsForbidden(err)
}
