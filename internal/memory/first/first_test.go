package first

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// percentNow returns the percentage of the garbage collector.
func percentNow() int {
	percent := debug.SetGCPercent(DefaultPercent)
	debug.SetGCPercent(percent)
	return percent
}

func TestDelay(t *testing.T) {
	t.Setenv("GOGC", "")
	takeOver := func() {
		if !TakeOver(func(otherwise uint64) bool { return otherwise != delayedPercent }) {
			t.Error("it does not say what the percentage is")
		}
		debug.SetGCPercent(300)
	}
	leave := func() {
		if TakeOver(func(uint64) bool { return true }) {
			t.Error("it was taken over although the user has chosen")
		}
	}
	for name, test := range map[string]struct {
		then          func()
		during, after int
	}{
		"nothing else":         {func() {}, delayedPercent, DefaultPercent},
		"another percentage":   {func() { debug.SetGCPercent(50) }, 50, 50},
		"it is taken over":     {takeOver, 300, 300},
		"it is not taken over": {leave, delayedPercent, DefaultPercent},
	} {
		t.Run(name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(DefaultPercent))
			Delay()
			if got := percentNow(); got != delayedPercent {
				t.Errorf("delayed: %d %%, want %d %%", got, delayedPercent)
			}
			test.then()
			if got := percentNow(); got != test.during {
				t.Errorf("%d %%, want %d %%", got, test.during)
			}
			collected := make(chan struct{})
			runtime.AddCleanup(new(*int), func(struct{}) { close(collected) }, struct{}{})
			runtime.GC()
			<-collected
			for isDelayed() { // its cleanup may run beside that of the test
				runtime.Gosched()
			}
			if got := percentNow(); got != test.after {
				t.Errorf("after a collection: %d %%, want %d %%", got, test.after)
			}
		})
	}
}

func isDelayed() bool {
	mu.Lock()
	defer mu.Unlock()
	return delayed
}

func TestDelayRespectsUser(t *testing.T) {
	t.Run("GOGC", func(t *testing.T) {
		t.Setenv("GOGC", "100")
		wantUntouched(t, 100)
	})
	t.Run("GOMEMLIMIT", func(t *testing.T) {
		t.Setenv("GOMEMLIMIT", "1GiB")
		wantUntouched(t, 100)
	})
	t.Run("SetGCPercent", func(t *testing.T) {
		t.Setenv("GOGC", "")
		defer debug.SetGCPercent(debug.SetGCPercent(200))
		wantUntouched(t, 200)
	})
}

func wantUntouched(t *testing.T, want int) {
	t.Helper()
	Delay()
	if got := percentNow(); got != want {
		t.Errorf("got %d %%, want %d %%", got, want)
	}
}
