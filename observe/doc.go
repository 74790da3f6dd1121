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
//
// The files:
//
//   - what readers get: event.go and record.go; snapshot.go, with client.go, controllerstate.go, interventions.go, gone.go,
//     names.go, noexecute.go, webhook.go, forcedfields.go, creation.go, problem.go, endedoperator.go and speed.go;
//   - reading: observer.go (Observer), source.go, query.go, stacks.go; idle.go asks whether the process is idle;
//   - whose work it is: recorder.go, scope.go, foruser.go, syncrun.go, runningsyncs.go, callrun.go;
//   - work queues: queues.go and queue.go are for client-go's, with queueadd.go, addafter.go, delayedkeys.go and
//     keyresource.go; keyedqueue.go and reportedqueue.go for others; queuetotals.go counts beyond a restart;
//   - records in memory: journal.go, ring.go, background.go; callentry.go, ownrecord.go and idledelivery.go make
//     them small;
//   - records that are kept for causes: history.go, causechain.go, removedobjects.go;
//   - what follows from several records: follower.go, with failingkeys.go and, for ignored webhooks, webhook.go;
//   - what is measured: sampler.go, series.go, histogram.go, watchlag.go, timers.go; growingmap.go is a map
//     that is read without a lock.
package observe
