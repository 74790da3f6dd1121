package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// fixedWorkRounds take some hundredths of a second on current CPUs.
	fixedWorkRounds = 50_000_000
	// On a quiet machine the durations of the fixed work differ by at most noisySpread.
	noisySpread = 1.15
)

// timeFixedWork does a fixed piece of work on every CPU at once and returns how long the
// slowest took: longer than usual if the machine is busy.
func timeFixedWork() time.Duration {
	var wg sync.WaitGroup
	var sink atomic.Uint64 // prevents that the work is optimized away
	began := time.Now()
	for cpu := range runtime.NumCPU() {
		wg.Go(func() {
			x := uint64(cpu) + 1
			for range fixedWorkRounds {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
			}
			sink.Add(x)
		})
	}
	wg.Wait()
	return time.Since(began)
}

// formatNoise says how quiet the machine was.
func formatNoise(res *results) string {
	var spins []float64
	for _, s := range res.Samples {
		spins = append(spins, s.SpinSeconds)
	}
	lo, hi := slices.Min(spins), slices.Max(spins)
	text := fmt.Sprintf("A fixed piece of work on all CPUs before each run took %.0f–%.0f ms (max/min %.2f)", 1000*lo, 1000*hi, hi/lo)
	busy := false
	if load := res.Samples[0].Load; load != nil {
		text += fmt.Sprintf("; the load average before the first run was %.2f", *load)
		busy = *load > float64(res.Machine.CPUs)/2
	}
	if busy || hi/lo > noisySpread {
		return "NOISY MACHINE: " + text + ". Compare ratios, not figures."
	}
	return "Quiet machine: " + text + "."
}
