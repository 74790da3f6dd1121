package nodes

import "time"

// Due is the next that the simulated kubelets will do for a pod by themselves,
// and when; the zero time if nothing is. What users' Stages have them do is not
// known.
func (f *Fleet) Due() (what string, at time.Time) {
	l := f.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.pods {
		if node := l.nodes[e.node]; e.pod == nil || e.ending || node == nil || !node.live {
			continue
		}
		d := podDue(e.pod, place{}, l.now()) // its addresses make no difference to when
		if d.stage != "" && (at.IsZero() || d.at.Before(at)) {
			what, at = "Pod "+e.pod.Namespace+"/"+e.pod.Name, d.at
		}
	}
	return what, at
}
