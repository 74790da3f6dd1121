// Package ctrlplane runs a Kubernetes control plane in this process: an embedded etcd,
// upstream's API server, all controllers of upstream's controller manager, cloud
// controllers and upstream's scheduler. It downloads nothing and starts no other
// process. Pods run on simulated nodes, if Server.Nodes asks for some.
//
//	srv := &ctrlplane.Server{}
//	if err := srv.Start(ctx); err != nil { … }
//	defer srv.Close()
//	client, err := kubernetes.NewForConfig(srv.RESTConfig())
//
// Start returns when the API server is ready and the controllers run. Close stops all
// parts in the reverse order of the start, and returns when they have ended. If a part
// fails, the Server closes itself: Done is closed, and Err returns the failure.
//
// # Process-wide effects
//
// Kubernetes keeps some state per process, so only one Server can run in a process at a
// time: Start fails with ErrRunning until the other one is closed. Servers can be
// started and closed one after the other.
//
// While it runs, a Server changes the following settings of the process. Close undoes
// that.
//
//   - The percentage of the garbage collector (GOGC). During the start it is raised so
//     that the next collection comes 256 MiB beyond the live heap; afterwards it follows
//     the load. When there is little to do, unused memory is returned to the operating
//     system (debug.FreeOSMemory) and, on Linux, pages of the executable file are removed
//     from memory. Where a control group limits the memory of the process, as in a
//     container, the heap is limited, too (debug.SetMemoryLimit), to leave room for the rest.
//     Opt out with Server.KeepGCSettings, or by setting GOGC, GOMEMLIMIT or
//     their functions in runtime/debug: then nothing of this happens. A percentage that
//     another part of the process sets while the Server runs stays.
//   - The logger and the verbosity of klog: to Server.Log, or discarded without one. There
//     is no opt-out, because the components log through klog.
//   - Feature gates, by APIServer.FeatureGates, and the emulated version, by Kubernetes.
//     Leave them empty to opt out.
//   - The entries of /configz.
//   - The names of the controllers' and the API server's informers, which client-go
//     reserves per process.
//   - How upstream's storage connects to etcd, and the size of the segments of etcd's
//     write-ahead log (wal.SegmentSizeBytes, 8 MiB), with the embedded etcd. Set
//     Etcd.Endpoints to opt out.
//
// Importing this package changes these settings for the rest of the process. There is no
// opt-out but not importing it.
//
//   - The version that Kubernetes' packages give themselves (component-base/version and
//     client-go/pkg/version), unless the linker has set one.
//   - The metrics providers of client-go: of work queues (workqueue.SetProvider), of requests
//     (metrics.Register, where the first package wins) and of leader election.
//   - What Kubernetes' packages register when they are imported: API types in client-go's
//     scheme, metrics, feature gates, admission plugins.
//
// The first Start adds the metrics workqueue_* to Kubernetes' metrics registry, where
// they stay. The registry's counters count on from one Server to the next.
//
// The warning handler of client-go (rest.SetDefaultWarningHandler) is not changed: clients
// inside the process receive no warnings. Neither is klog.OsExit: a component that fails
// fatally exits the process, as upstream does. Upstream also does so if a start is
// interrupted, by its context or by Close, while the API server starts, and maybe only after
// Start has returned its error: a program that must survive that sets klog.OsExit to a function
// that calls runtime.Goexit while Server.StartFailed, as the command and the package
// ctrlplanetest/inprocess do.
//
// Goroutines that upstream never ends, such as those of cached transports, may stay for
// some seconds after Close; their number does not grow with the number of Servers.
package ctrlplane
