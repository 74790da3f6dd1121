// Package apiserver assembles upstream's API server in this process. It serves on a
// listener and, without a connection, to clients in the process (see
// [Server.ClientConfig]).
//
// The files:
//
//   - assembly and life: config.go, assemble.go, server.go, health.go (until it is ready), featuregates.go, chain.go (the
//     order of our handlers), pki and seed; bootstrap.go and bootstrapretry.go create what upstream's hooks would,
//     policy.go lists roles for that; certificatefiles.go reads certificates that are replaced;
//   - who asks: outside.go (requests of other programs), anonymous.go, ownwrites.go (which admission plugins of users do not
//     see ours); loopbackclients.go and informerloan.go are for clients in this process;
//   - other servers: localapi.go and localdiscovery.go (API groups of this process), aggregated.go, webhooks.go, kubelets.go
//     (connections to nodes, Pods and Services);
//   - what is recorded: requestcounter.go, requestend.go, storagewrites.go, admissionnotes.go, policynotes.go, forcednotes.go,
//     creationnotes.go;
//   - what is held up: writebarrier.go (all writes), namespacewrites.go (those into a namespace that is being deleted);
//   - storage: etcdclient.go, localreads.go;
//   - watches: sharedwatch.go and sharedwatchrelay.go share those of the storage, watchrelay.go and watchflow.go queue
//     events, watchdecoding.go decodes them; bookmarks.go, longrunning.go;
//   - openapi.go (documents), componentmetrics.go (versions and feature gates as metrics).
package apiserver
