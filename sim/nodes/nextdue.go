package nodes

import "time"

// NextDue returns the next change that the simulated kubelets will make to a Pod
// without being triggered, and when; the time is zero if there is none. It does not
// know the Stage objects of users.
func (f *Fleet) NextDue() (what string, at time.Time) {
	r := f.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.pods {
		if node := r.nodes[e.node]; e.duePod == nil || e.deleting || node == nil || !node.live {
			continue
		}
		d := nextPodStage(e.duePod, placement{commands: commandRunner{runtime: r.commands}, backoffs: &e.backoffs}, r.now()) // the time does not depend on addresses
		if d.name != "" && (at.IsZero() || d.at.Before(at)) {
			what, at = "Pod "+e.duePod.Namespace+"/"+e.duePod.Name, d.at
		}
	}
	return what, at
}
