package observe

import "slices"

// NoExecute is what decides whether taint-eviction-controller evicts a Pod: the taints of a Node, or the tolerations of a
// Pod, with that effect. A Pod of which no event has any has those that the API server adds, for 300 s.
type NoExecute struct {
	Taints      []string     `json:"taints,omitempty"` // KEY=VALUE:NoExecute or KEY:NoExecute
	Tolerations []Toleration `json:"tolerations,omitempty"`
	TooMany     bool         `json:"tooMany,omitempty"` // they are not kept: there are more than 16
}

// Toleration is a toleration of a Pod; Seconds is nil if it has no end.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Seconds  *int64 `json:"seconds,omitempty"`
}

func (n *NoExecute) equal(m *NoExecute) bool {
	if n == nil || m == nil {
		return n == m
	}
	return n.TooMany == m.TooMany && slices.Equal(n.Taints, m.Taints) && slices.EqualFunc(n.Tolerations, m.Tolerations, Toleration.equal)
}

func (t Toleration) equal(u Toleration) bool {
	if (t.Seconds == nil) != (u.Seconds == nil) || t.Seconds != nil && *t.Seconds != *u.Seconds {
		return false
	}
	return t.Key == u.Key && t.Operator == u.Operator && t.Value == u.Value
}
