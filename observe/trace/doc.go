// Package trace finds causes: it links the records of package observe, each to the
// one that caused it, and draws the result.
//
// A chain of causes has four kinds of links: an API call makes a version of an
// object; the version is delivered to controllers as an event; the event's handler
// adds keys to queues; a worker syncs a key and makes API calls. Build follows the
// effects of an object, Why its causes.
//
// Each link names the Rule by which it is known, and its Certainty:
//
//   - ByCall: the record of a call names the sync that made it. Certain. Likely if it names
//     the sync that has started the goroutine of the call and had ended by then.
//   - ByKey: a call was made outside of any sync, during one sync of its controller only,
//     or one of the object: some workers pass their keys to other goroutines. Likely.
//   - ByStorage: the storage reports that it wrote the version for the call. Certain. The
//     next three rules serve records without such reports.
//   - ByVersion: a call was answered with the version that was delivered. A write
//     without an effect is answered with the existing version, so this alone is not
//     certain. Certain are: a create; a delete that was answered with the last version of
//     the object; and an update, since it names the version that it changes, if no
//     record shows that the new version, or a later one of any object, was known
//     before the call began, no other call was answered with it, and the object was
//     not removed meanwhile.
//   - ByDeletion: a delete was answered without the object, as the API server does if
//     that call has removed it. Certain if there is one such call and one such
//     deletion, or if the UIDs match. Or the API server has deleted a custom resource itself, as its definition was
//     deleted before, or an object that was marked as deleted before was removed for no reason that is known to have begun
//     later, by a client that reacts to events or in a sync of what was found at a start. Likely.
//   - ByWrite: a call was in flight when the object changed, and it is of a kind whose
//     answer does not contain the version that it makes: the removal of the last
//     finalizer, a graceful delete, a delete of a collection, a binding. Likely.
//   - ByAdd: the time that a key was queued identifies the add that a sync follows, if
//     only one matches, and the event names its adds. Certain. If several match, the one of
//     the most closely related object. Likely. A queue with some hundred keys does not know
//     the add for certain, nor does a client that reports an unsure one: then it is what
//     the record names, or else an event whose handler ran at that time. Likely.
//   - ByRetry: an earlier sync requeued the key. Certain if the queue's timer added it
//     when that sync said, no other node delayed a key that may be the same and was due
//     then or up to 5 s before, and both logs name the key. Likely if the timer was late.
//   - BySync: another sync of the controller added the key, as the garbage collector's
//     queues feed each other, as the queue reports. Certain. Likely if it is not sure.
//   - ByDelay: an event's handler added the key with a delay. Certain as for ByRetry, if
//     the key is that of the event's object. If the delay is not known: the controller
//     received an event of the object. Likely. So it is if a goroutine of the handler added the key more than a second
//     later, as when a simulated container has ended. The node controllers mark, taint and evict by
//     timers of their own, outside of any sync: the last event of the node for which they do so. Likely.
//   - ByMerge: a timer, or the controller's own write, has queued the key, and meanwhile
//     the controller received an event of the key's object or of one that is named after
//     it. Or the key was added from a queue without a name, right after such an event. Of a Deployment's Pods, only the
//     deletion of the last one counts, if the sync writes a ReplicaSet: the strategy Recreate waits for that. Likely.
//     Or the write of replicaset-controller has queued its key, or its sync before did the opposite, and another one had
//     changed the ReplicaSet before the sync created or deleted Pods. Likely.
//   - ByReplaced: other news has queued the key of a ReplicaSet or ReplicationController, and the sync has created a Pod
//     while another one was deleted and not replaced so far. Likely.
//   - ByWatch: a client outside of the process, or another one of its program over the same connection, had received the
//     event on one of its watches when it sent the call, and the objects of the two are related: the same, owner
//     and owned, of one owner, or one names the other. Likely.
//   - ByStatus: the API server has updated a CustomResourceDefinition after another write of it, without a recorded call: its
//     own controllers accept the names and establish the kind, each as soon as it receives the version before. Likely.
//
// A version without a recorded call is attributed to an outside write: by a user, by
// another process, or by the API server itself. What a controller does by a timer of
// its own, outside of any sync, has no cause.
//
// An object that is asked for has its group, resource, kind, namespace and name, as Inspect returns them: operators are known
// by the name of the kind.
//
// The files, in the order of the work:
//
//   - what is read: follow.go (records and state), find.go, collectedobjects.go and actor.go (whose name is given),
//     past.go (what a recording has instead of objects);
//   - the graph: node.go, and graph.go, whose newGraph makes nodes of records and calls the rest: transitions.go completes events,
//     linkclientwrites.go links calls of clients to events, linkversions.go, writeindex.go and unencodedanswer.go events to calls, linkadds.go, queueadds.go, opensync.go,
//     merged.go, replacements.go and specchange.go syncs to events, loosecalls.go, nodetimers.go, orphanedpods.go
//     and evictions.go calls outside of syncs, crdinstances.go what the API server does for CustomResourceDefinitions;
//   - what is noted at a node: noeffect.go, nostatus.go, conflict.go, absentowner.go, duestart.go, ignored.go;
//   - trace.go has Build, with prune.go and unexplained.go for what it leaves out; why.go has Why, with lastwrites.go, deletion.go,
//     deletionevent.go, helddeletion.go, refusedevictions.go, since.go, regularwrites.go, userchanges.go and unknown.go; loop.go finds hot
//     loops, lastchange.go and createdfor.go what others ask for;
//   - what holds at present, beside a chain: failing.go, mutatedwrites.go, failingwrites.go (with renamed.go and backoff.go),
//     failedeffects.go, unchanged.go, warned.go, working.go, waiting.go, unanswered.go, ended.go;
//   - output: format.go, then text.go and chaintext.go (text, with painter.go, fold.go and rounds.go),
//     wording.go, summary.go, trigger.go, kindname.go and fieldmanager.go (words), steps.go (what diagrams draw), page.go, mermaid.go,
//     chrome.go, otlp.go.
package trace
