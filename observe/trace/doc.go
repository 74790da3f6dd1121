// Package trace tells why something happened in a control plane: it ties the
// records of package observe together, each to its cause, and draws what it finds.
//
// A chain of causes has four kinds of links: a call of the API makes a version
// of an object; the version is delivered to controllers as an event; an event's
// handler adds keys to queues; a worker syncs a key and calls the API. Build goes
// down from an object, Why goes up.
//
// Each link says by which Rule it is known, and whether that is certain:
//
//   - by call: a call says which sync made it. Exact.
//   - by version: a call was answered with the very version that was delivered.
//     That alone is not certain: a write that changes nothing is answered with the
//     version that was there already. Exact are a create; a delete that was
//     answered with the version of the object's end; and an update, as it names
//     the version that it changes, if no record shows that the new one, or a later
//     one of any object, was known before it began, no other call was answered
//     with it, and the object did not end meanwhile.
//   - by deletion: a delete was answered without an object, which the API server
//     does when that very call has removed it. Exact, if there is one such call
//     and one such deletion.
//   - by write: a call was under way when the object changed, and is of a kind
//     that makes versions that its answer does not tell: one that removes the last
//     finalizer, a graceful delete, a delete of a collection, a binding. Likely.
//   - by add: the queue says which of its adds a sync follows, by how long the key
//     waited, if only one fits; the event names its adds. Exact. Older records,
//     that do not say so, are judged by the clock: the queue's position names the
//     event whose add a sync follows, and the moment of the add lies within the run
//     of that event's handler and of no other that added to the queue. Exact when
//     both agree; or when the moment alone says so, for positions shift when a key
//     is added that is being worked on, but the sync's log names the event's own
//     object as its key and the handler added as many keys as syncs fit it. Likely
//     when only one of them says so.
//   - by retry: the key was put back by an earlier sync. Exact, if the queue's timer
//     added it when that sync said, nobody else put back what may be the same key
//     until then, and the logs of both name it.
//   - by sync: the key was added by another sync of the controller, as the garbage
//     collector's queues feed each other. Exact, if the queue says so; Likely, if
//     only the time does.
//   - by delay: an event's handler put the key off. Exact as a retry is, if the key
//     is that of the event's object. Where records do not tell what is put off: the
//     controller was told of the object whose key it is. Likely.
//
// A version that no recorded call is known to have made was written from outside:
// by a user, by another process, or by the API server itself. What a controller
// does at a timer of its own, outside of any sync, follows from nothing.
package trace
