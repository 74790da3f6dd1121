// Package etcd is the storage of a control plane: one embedded etcd member
// that has no network port, or a client's view of a cluster that runs
// elsewhere. Both are a [Server].
//
// What it promises:
//
//   - Start returns when the store answers linearised reads, and a Start that
//     fails leaves nothing behind: no goroutine, no lock, and no file that was
//     not there before.
//   - Unless [Config.NoSync] is set, a write that was acknowledged survives the
//     end of the process at any moment.
//   - A fault that etcd holds to be fatal does not end the process: it is told by
//     Start, or closes Done and is told by Err. Goroutines, a file lock and a
//     spare file may then be left until the process ends.
//   - Damage is looked for before etcd opens the files, as there etcd and bbolt
//     panic in goroutines of their own, which nobody can recover from.
package etcd
