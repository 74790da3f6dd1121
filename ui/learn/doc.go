// Package learn parses lessons and runs them on a control plane. A lesson is a Markdown
// file: front matter describes it, each heading "## …" begins a step, and fenced blocks
// in YAML are tasks for the reader (do), actions of the lesson itself (run), output (show)
// and questions (ask). docs/lessons.md describes the format for authors.
//
// Run runs the steps of a lesson in a namespace of its own. At the end it deletes the
// namespace and the lesson's folder, stops the background commands, and reverts
// interventions on controllers and nodes. It detects that a task is done from the API
// and from the records of package observe, so the reader may work in any shell. With
// Auto it performs all tasks itself, and fails if a check does not hold, or holds before
// its task was done.
package learn
