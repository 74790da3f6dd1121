//go:build race

package shell

// slowdown is how much longer code takes that the race detector watches.
const slowdown = 5
