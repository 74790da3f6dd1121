// Package report writes a report of a control plane run to a folder: an HTML page
// for people, and files for other programs.
//
//	report.html    the activity of all controllers, unhealthy objects and why; a single self-contained file
//	events.jsonl   all records, in the format of docs/json.md
//	output.log     what the command printed
//	junit.xml      one test case for the command, one per assertion and one per object that should be healthy
//	objects.yaml   the objects at the end, without managed fields and Secret values
//	ctrlplane.log  the log of the control plane during the run
//
// Guarantees:
//
//   - A file appears under its name only when it is complete.
//   - Records are written as they arrive. Records that the observer dropped before
//     they could be read are counted, and the files say how many.
//   - Names and messages are untrusted text. They never act as markup, as a command
//     of a CI service, or as a control sequence of a terminal.
package report
