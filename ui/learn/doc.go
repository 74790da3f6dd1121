// Package learn reads lessons and runs them against a control plane. A lesson is
// a Markdown file: front matter says what it is, each heading "## …" begins a
// step, and fenced blocks in YAML are what the reader does (do), what the lesson
// does itself (run), what it shows (show) and what it asks (ask). docs/lessons.md
// describes them for those who write one.
//
// A Runner does the steps of a lesson in a namespace of its own, and takes back
// all of it at the end: the namespace, its folder, what it has started, nodes,
// and hands on controllers. It sees that something was done by looking at the
// API and at what package observe knows, so that it does not matter where it was
// done. With Auto it does all by itself and fails where a check does not hold, or
// holds before anything was done.
package learn
