// Package instrument shows a ctrlplane control plane what the controllers of an operator
// do: the events that they receive, the keys that these add to their queues, their syncs,
// and which API call belongs to which sync. One line in main is all that it needs:
//
//	mgr, err := ctrl.NewManager(cfg, options)
//	...
//	mgr = instrument.Manager(mgr)
//
// The controllers must be added to the manager that Manager returns.
//
// With another API server it does nothing but ask once whether this is ctrlplane. With
// ctrlplane it never makes the operator fail: what is to be reported is kept in a
// buffer of bounded size and sent by a goroutine of its own. What finds no room is dropped
// and counted, and the control plane says how much that was. The operator waits for the
// control plane twice at most, when it ends: for 250 ms if a panic ends it (RecoverPanic is
// false), and for 1 s when its manager stops, unless reports are not answered at that time.
//
// https://github.com/ctrlplane/ctrlplane/blob/main/docs/operators.md has the wire format.
package instrument
