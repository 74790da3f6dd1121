package container

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
)

// keptTokens are the tokens of a Pod. As with a kubelet (pkg/kubelet/token), each is used until it has to be replaced, however
// often the volumes are read, and until it expires if it cannot be replaced.
type keptTokens struct {
	mu   sync.Mutex
	made map[string]keptToken // by what was requested
}

type keptToken struct {
	*authenticationv1.TokenRequest
	renewAt time.Time
}

// volumeFiles returns the files of a volume, and when its tokens have to be replaced; zero =
// it has none.
func (p *pod) volumeFiles(ctx context.Context, of *corev1.Pod, v *corev1.Volume, from podconfig.Source) (podconfig.Files, time.Time, error) {
	tokens := &tokenSource{Source: from, kept: &p.tokens, now: p.renewal.time()}
	files, err := podconfig.VolumeFiles(ctx, of, v, tokens)
	return files, tokens.renewAt, err
}

// tokenSource is a source that keeps tokens, and records when the first of them has to be replaced.
type tokenSource struct {
	podconfig.Source
	kept    *keptTokens
	now     time.Time
	renewAt time.Time
}

// Token implements podconfig.Source.
func (t *tokenSource) Token(ctx context.Context, namespace, serviceAccount string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	t.kept.mu.Lock()
	defer t.kept.mu.Unlock()
	requested := fmt.Sprintf("%q %d", request.Spec.Audiences, ptr.Deref(request.Spec.ExpirationSeconds, 0))
	token, known := t.kept.made[requested]
	if !known || !t.now.Before(token.renewAt) {
		made, err := t.Source.Token(ctx, namespace, serviceAccount, request)
		switch {
		case err == nil:
			token = keptToken{made, renewalTime(made)}
			if t.kept.made == nil {
				t.kept.made = map[string]keptToken{}
			}
			t.kept.made[requested] = token
		case known && t.now.Before(token.Status.ExpirationTimestamp.Time):
			token.renewAt = t.now.Add(refreshRetryInterval)
		default:
			return nil, err
		}
	}
	if t.renewAt.IsZero() || token.renewAt.Before(t.renewAt) {
		t.renewAt = token.renewAt
	}
	return token.TokenRequest, nil
}

// renewalTime returns when a token has to be replaced: as with a kubelet, after 80 % of its time,
// and at least once a day. That time may be shorter than the Pod has requested.
func renewalTime(made *authenticationv1.TokenRequest) time.Time {
	lifetime := time.Duration(ptr.Deref(made.Spec.ExpirationSeconds, 3600)) * time.Second
	issued := made.Status.ExpirationTimestamp.Add(-lifetime)
	return issued.Add(min(lifetime*8/10, 24*time.Hour))
}
