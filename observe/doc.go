// Package observe records what happens in a control plane and describes its
// current state: the numbers of every work queue, and the events, API calls, log
// lines and syncs of every controller. It knows nothing about its readers.
//
// It guarantees:
//
//   - Observers never block a controller. What a controller calls here waits for
//     no reader and calls no callback. Where it takes a lock, as for a new
//     resource or for a key that a queue's timer adds, it is held only briefly.
//   - Memory is bounded. Rings keep the newest records. Dropped records are
//     counted, and the counters stay exact.
//   - There is one order, a Record's Seq. Its time is informative only.
//   - A slow reader learns how many records it missed. Nothing waits for it.
//   - Inferred values carry a Basis that says how they are known. Unknown values
//     are empty.
//
// A goroutine is attributed to a controller by its profiler labels, which its
// children inherit. CPU profiles of the process are therefore split by
// controller as well.
//
// The package relies on details of Go and of client-go that their authors do not
// promise; docs/upstream-hooks.md lists them.
package observe
