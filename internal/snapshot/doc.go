// Package snapshot is the state of a control plane as a file: its form, where
// such files lie, and what differs between two of them.
//
// A file is two lines of text, a gzip stream and a checksum:
//
//	ctrlplane snapshot 1           the version of the form
//	{"kubernetes":"v1.37.1",…}     a Header, as JSON on one line
//	…                              the entries, compressed
//	32 bytes                       SHA-256 of all before
//
// Values are kept as the API server has stored them. Left out is what belongs
// to processes that run and not to the state: see Transient.
package snapshot
