// Package replay records what a source shows, as lines of JSON, and reads such a
// recording: it is a source again, at any moment that it covers.
//
// A recording has the records of its source, and the snapshots that differ: a whole one
// now and then, and in between what has changed since the previous one. docs/json.md
// describes the lines.
//
// A Recorder writes a recording to a file, of which it bounds the size if it is asked to.
// A Buffer keeps the newest snapshots in memory, for a view that goes back in time. Open
// reads a file into a Recording. Its Moments are immutable: the same position always shows
// the same records and the same snapshot.
package replay
