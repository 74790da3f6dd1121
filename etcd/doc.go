// Package etcd is the storage of a control plane: an embedded etcd member without a
// network port, or a cluster that runs elsewhere. Both are a [Server].
//
// It guarantees the following:
//
//   - Start returns when the store answers linearizable reads. A Start that fails
//     leaves no goroutine, no lock, and no new file.
//   - Unless [Config.NoSync] is set, an acknowledged write survives the end of the
//     process at any moment.
//   - While the disk is nearly full, writes of an embedded member's clients are refused
//     and reads are served: see [Config.RefusedWrite]. While the database is nearly full,
//     new keys are refused, and old revisions and free pages are removed.
//   - An error that etcd treats as fatal does not end the process. Start returns it, or
//     Done is closed and Err returns it. Goroutines, a file lock and a spare file may
//     then remain until the process ends.
//   - Files are checked for damage before etcd opens them. While it opens them, etcd and
//     bbolt panic in goroutines of their own, which cannot be recovered from.
//   - While embedded members exist, the size of etcd's log files (wal.SegmentSizeBytes,
//     a variable of the process) is changed. Close undoes that.
package etcd
