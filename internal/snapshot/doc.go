// Package snapshot encodes the state of a control plane as a file, stores such files,
// and computes the changes that make one state of another.
//
// A file is two lines of text, a gzip stream and a checksum:
//
//	ctrlplane snapshot 1           the version of the format
//	{"kubernetes":"v1.37.1",…}     a Header, as JSON on one line
//	…                              the entries, compressed
//	32 bytes                       SHA-256 of all bytes before
//
// Values are stored as the API server encodes them. Keys that only say that a process
// runs are left out: see IsTransient.
package snapshot
