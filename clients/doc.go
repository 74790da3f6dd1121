// Package clients observes the programs outside of the process that use the API server,
// and intervenes in what they do. A client is known by its program and its user, so that
// one that restarts is the same client. Package recording says what is recorded of a
// request, and package intervene does what may be changed, as for controllers.
//
// Recording never blocks a request, except that the answer to a refused one may wait for the rest of its body, for at most
// 100 ms, and the first one over a connection until the process of the request is found, for at most 25 ms. Bodies are kept until
// the request is recorded, at most 64 KiB of what is sent. What is kept is bounded: the number of clients, and the number of events
// that each watch remembers.
//
// The files:
//
//   - who sends a request: clients.go (Handle), client.go, name.go, genericagent.go, connection.go, and command.go tells a command
//     from an operator;
//   - what is recorded of it: request.go, with sentbody.go, list.go, refusal.go, hijack.go, ratelimit.go; watch.go and
//     frames.go are for watches, unopened.go for lists before them, polls.go for lists in place of them, unanswered.go for
//     writes until their answer;
//   - which event a write follows from: write.go is the write, processwatches.go says whose watches count, and activity.go, bursts.go,
//     heldtime.go and writerun.go when its client worked; cause.go decides, with candidates.go and chosen.go for events of related
//     objects (relation.go, sharedobjects.go, eventcollector.go), otherusers.go, and restore.go, after which none does;
//   - what a client reports about its own controllers: report.go is the wire format, reports.go and reportlists.go
//     take it; session.go, reportedstate.go, reportedcontroller.go and reportedrecord.go keep what it says;
//   - interventions: interventions.go in clients, controllerinterventions.go in controllers that clients report, keep.go
//     keeps both from being forgotten meanwhile;
//   - what a client may do: permissions.go has what it has used or was refused, refusedreads.go which lists and
//     watches are refused.
package clients
