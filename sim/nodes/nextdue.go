package nodes

import "time"

// NextDue is the next that the simulated kubelets will do for a pod by themselves,
// and when; the zero time if nothing is. What users' Stages have them do is not
// known.
func (f *Fleet) NextDue() (what string, at time.Time) {
	l := f.registry
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.pods {
		if node := l.nodes[e.node]; e.duePod == nil || e.deleting || node == nil || !node.live {
			continue
		}
		d := nextPodStage(e.duePod, placement{}, l.now()) // its addresses make no difference to when
		if d.name != "" && (at.IsZero() || d.at.Before(at)) {
			what, at = "Pod "+e.duePod.Namespace+"/"+e.duePod.Name, d.at
		}
	}
	return what, at
}
