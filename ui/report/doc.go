// Package report writes down a run of a control plane in a folder: a page to
// look at, and files for other programs.
//
//	report.html    what every controller did, and what is not healthy and why; one file that fetches nothing
//	events.jsonl   everything that was observed, in the form of docs/json.md
//	junit.xml      a case for the command, and one an object that was to be healthy
//	objects.yaml   the objects at the end, without managed fields and the values of Secrets
//	ctrlplane.log  what the control plane logged meanwhile
//
// Its promises:
//
//   - A file has its name when it is whole, and not before.
//   - The records are written as they come. Those that went before they could be
//     read are counted, and the files say how many.
//   - Names and messages are somebody else's text: none of them is taken for
//     markup, a command of a CI service, or a control sequence of a terminal.
package report
