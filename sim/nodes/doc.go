// Package nodes simulates nodes: it creates Nodes without machines and does for
// them and for their Pods what kubelets would do.
//
// The feeds (feed.go) follow Nodes and Pods and pass each version to the registry
// (podregistry.go), which decides what is due for it: pod.go and container.go compute
// the status of a Pod from the Pod, the time, its runs and the delays of its restarts
// (backoff.go), admission.go calls upstream's checks of whether a node accepts a Pod.
// With commandRunner.mayStart, computing a status also starts, stops and replaces runs
// (command.go); when one changes, the Pod passes through the feed again (commandchanges.go).
// The players (player.go) write what is due, and have the Stage objects of users played (stageplay.go). heartbeat.go
// renews the Leases of the nodes.
//
// The files:
//
//   - the fleet: fleet.go (Fleet), config.go, operations.go (add, remove, fail …), names.go, registration.go, simulation.go,
//     log.go;
//   - nodes: node.go, allocatable.go, declaredfeatures.go, heartbeat.go, addresspool.go;
//   - what is due, and who writes it: feed.go, follow.go, registry.go (nodes), podregistry.go, duestage.go, nextdue.go,
//     player.go; played.go says which event a write follows from; webhookadvice.go explains what refuses one;
//   - whether a node accepts a Pod: admission.go, load.go, sysctls.go;
//   - the status of a Pod: pod.go, container.go, conditions.go, specstatus.go, imageid.go, podips.go, podtables.go (who
//     answers at an address);
//     behavior.go has what annotations say, pause.go the image pause;
//   - commands: command.go, commandchanges.go, backoff.go, terminate.go, containerexit.go; replace.go and restartall.go
//     restart containers, podresize.go resizes them;
//   - Events: restartevents.go, resizeevents.go, describe.go; explainlog.go says why a log is empty, notrun.go what
//     did not run;
//   - the Stage objects of users: stageobjects.go, stageset.go, userstages.go, stagefunctions.go, stagesteps.go,
//     stagedelay.go, stagestate.go, stageplay.go.
package nodes
