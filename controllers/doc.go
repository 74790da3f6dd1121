// Package controllers builds, runs and stops upstream's controllers, each with
// its own clients, event handlers, logger and lifetime.
//
// A Supervisor has one unit for each controller of the catalogue. Between a
// controller and the rest of the process are the parts that package recording
// (what is observed) and package intervene (what may be changed) provide.
//
// The files:
//
//   - which controllers there are: catalogue.go, extracontroller.go (those that upstream does not have), constructors.go,
//     with garbagecollector.go and namespace.go;
//   - configuration: config.go, flags.go;
//   - life: supervisor.go, unit.go, status.go, restart.go, suspend.go (all stop while a snapshot is restored);
//     lastmessage.go says why one cannot be built;
//   - clients: clientbuilder.go;
//   - what controllers receive: sharedinformers.go, informers.go (the view of each), trackedfactory.go, handlerbarrier.go,
//     filteredinformer.go, lentinformer.go, pacedindexer.go, accessors.go (the API groups of a view);
//   - interventions: interventions.go (in the controllers that a name or a list means), unitinterventions.go, suspension.go,
//     scale.go;
//   - what is known of flags and queues: upstreamfacts.go.
package controllers
