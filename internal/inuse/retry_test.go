package inuse

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetry(t *testing.T) {
	busy, other := errors.New("busy"), errors.New("other")
	isBusy := func(err error) bool { return errors.Is(err, busy) }
	synctest.Test(t, func(t *testing.T) {
		for name, tt := range map[string]struct {
			change func(took time.Duration) error
			want   error
			took   time.Duration
		}{
			"closed soon":   {func(took time.Duration) error { return map[bool]error{true: busy}[took < 12*time.Millisecond] }, nil, 15 * time.Millisecond},
			"never closed":  {func(time.Duration) error { return busy }, busy, retryTimeout + retryInterval},
			"another error": {func(time.Duration) error { return other }, other, 0},
		} {
			began := time.Now()
			err := retry(func() error { return tt.change(time.Since(began)) }, isBusy)
			if took := time.Since(began); !errors.Is(err, tt.want) || took != tt.took {
				t.Errorf("%s: got %v after %v, want %v after %v", name, err, took, tt.want, tt.took)
			}
		}
	})
}
