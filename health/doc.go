// Package health reports whether API objects are healthy, waits until they are, and
// explains why they are not: the Pod that is unschedulable, the quota that is
// exceeded, the image that cannot be pulled.
//
// An object is healthy if kstatus calls it Current: kinds of Kubernetes by rules of
// their own, other kinds by their generation and conditions, and objects without
// conditions as soon as they exist. What the package adds to kstatus is in tables:
//
//   - stricterRules: kinds of Kubernetes that kstatus calls Current although they do not work, as a Service of type
//     LoadBalancer without an address;
//   - customRules: custom kinds with other conventions, as those of Argo, whose phase decides;
//   - conditionsOfSuccess and conditionsOfFailure: what makes it doubtful that another custom resource is healthy, and
//     decides if kstatus cannot read its status;
//   - doubtRules: what makes it doubtful that a healthy object of a kind of Kubernetes has the effect that its user expects.
//
// Why an object is not healthy is another question: explainKind and explainDeletion have the rules of kinds of Kubernetes,
// and explainItself what is said of all others. CONTRIBUTING.md, "A health rule", says how to add one.
//
// The files:
//
//   - the state of an object: state.go (StateOf), stricterrules.go, customrules.go, unreadable.go; conditions.go reads
//     conditions, obstacles.go finds those for which an object waits; suspended.go, jobend.go, expired.go (Jobs that were deleted);
//     kinds.go, ref.go and resource.go identify kinds and objects;
//   - what makes it doubtful that an object is healthy: doubt.go, missingstatus.go; doubtrules.go, with needed.go, service.go,
//     endpoints.go, ingress.go, binding.go, deviceclass.go, budget.go, workloaddoubts.go, scheduledjobs.go, podnode.go,
//     unservedowner.go, repeatedwarning.go, warnings.go;
//   - why it is not healthy: why.go (Why), search.go, event.go, solved.go; pod.go, with container.go, unschedulable.go, kill.go, revision.go,
//     simulation.go and network.go; workload.go, nextpod.go, spec.go, claim.go; owned.go and inventory.go for custom
//     resources; crd.go, apiservice.go, unavailableapi.go and controllers.go for what does not run or is not served; deletion.go, namespace.go;
//   - one object, or many: examine.go (Examine), wait.go (Wait), with resolve.go, tracker.go, watch.go, progress.go and
//     error.go; list.go (List), stuck.go (FindStuck), countedproblem.go (ProblemOf); changedfields.go compares two versions.
package health
