//go:build race

package e2e_test

// slowdown is how much longer a wait may take: the race detector makes the control
// plane about ten times slower, and a thousand Pods are deleted in a minute instead of five seconds.
const slowdown = 4
