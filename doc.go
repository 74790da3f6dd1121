// Package ctrlplane runs a Kubernetes control plane in this process: embedded
// etcd, upstream's API server, every controller of upstream's controller
// manager, its cloud loops and its scheduler. Nothing is downloaded and no other
// process is started. Pods run on simulated nodes, if Server.Nodes asks for some.
//
//	srv := &ctrlplane.Server{}
//	if err := srv.Start(ctx); err != nil { … }
//	defer srv.Close()
//	client, err := kubernetes.NewForConfig(srv.RESTConfig())
//
// Start returns when clients are served and controllers act. Close returns when
// all has ended, in the reverse order of the start; a Server that dies by
// itself closes Done, and Err says why.
//
// # One at a time
//
// Upstream keeps some of its state in the process: the feature gates, the
// metrics registry, the names of informers, the configuration shown at
// /configz, the log of klog, the size of etcd's log segments. So one Server
// runs in a process at a time: a second Start fails with ErrRunning until the
// first is closed. Starting and closing any number of them in turn works. What
// stays after Close is what upstream never ends; see TestStartCloseLeavesNothing.
package ctrlplane
