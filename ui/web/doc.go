// Package web serves a page that shows a control plane as a diagram: clients, kinds and
// controllers, and the keys that move between them. It is for a projector in a class; the
// live view in a terminal shows the same.
//
// The page receives the lines of "top --ui json" as server-sent events. However many pages
// are open, the source is polled once, and not at all while none is open. A page that reads
// slowly misses lines, receives how many, and never delays the others or the control plane.
//
// A page needs a session, which a token in the fragment of its link is exchanged for. The
// token of a link that allows interventions is valid once. Only the files of the page are
// served without a session.
package web
