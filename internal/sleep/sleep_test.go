package sleep

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		began := time.Now()
		if passed := For(ctx, time.Second); !passed || time.Since(began) != time.Second {
			t.Errorf("passed %v after %v", passed, time.Since(began))
		}
		if passed := For(ctx, time.Minute); passed || time.Since(began) != 2*time.Second {
			t.Errorf("passed %v after %v", passed, time.Since(began))
		}
	})
}
