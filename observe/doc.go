// Package observe holds what happened in a control plane and what is known of
// it now: every work queue's numbers, every controller's events, API calls, log
// lines and syncs. It knows nothing of who looks.
//
// Its promises:
//
//   - Looking never holds anybody up. Whatever a controller calls here takes no
//     lock, waits for nobody and calls nothing out.
//   - Memory is bounded. The newest records are kept in rings; the counters are
//     exact whatever the rings have let go, and what has gone is counted.
//   - One order: a Record's Seq. The time beside it is for people.
//   - A reader that falls behind is told how many records it missed; nobody
//     waits for it.
//   - Nothing is guessed in silence: what is inferred bears a Basis that says so,
//     and what is not known is empty.
//
// Whose work a goroutine does is known by its profiler labels, which its
// children inherit; so a CPU profile of the process is split by controller, too.
package observe
