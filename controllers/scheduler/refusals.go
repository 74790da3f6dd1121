package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/ctrlplane/ctrlplane/observe"
)

// recordFailure records which plugins have refused the nodes, and why. It returns the
// error of an attempt that failed for another reason.
func (c *cycles) recordFailure(status *fwk.Status) (failure string) {
	line := &observe.Logged{Level: -2, Message: "No node fits"}
	err := status.AsError()
	fit, unfit := errors.AsType[*framework.FitError](err)
	switch {
	case unfit:
		line.Attrs = refusals(fit)
	case errors.Is(err, upstream.ErrNoNodesAvailable):
		line.Message = "There are no nodes"
	case !status.IsRejected():
		return status.Message()
	default:
		line.Attrs = []observe.Attr{{Key: cmp.Or(status.Plugin(), "reason"), Value: status.Message()}}
	}
	c.recorder.RecordLog(line, "", "")
	return ""
}

// refusals returns the reasons of each plugin, by the number of nodes.
func refusals(err *framework.FitError) (attrs []observe.Attr) {
	counts := map[string]map[string]int{}
	count := func(s *fwk.Status, nodes int) {
		if s == nil || nodes < 1 {
			return
		}
		of := counts[s.Plugin()]
		if of == nil {
			of = map[string]int{}
			counts[s.Plugin()] = of
		}
		for _, reason := range s.Reasons() {
			of[reason] += nodes
		}
	}
	nodes := err.Diagnosis.NodeToStatus
	nodes.ForEachExplicitNode(func(_ string, s *fwk.Status) { count(s, 1) })
	count(nodes.AbsentNodesStatus(), err.NumAllNodes-nodes.Len())
	for _, plugin := range slices.Sorted(maps.Keys(counts)) {
		var reasons []string
		for _, reason := range slices.Sorted(maps.Keys(counts[plugin])) {
			reasons = append(reasons, fmt.Sprintf("%s (%d of %d nodes)", reason, counts[plugin][reason], err.NumAllNodes))
		}
		if len(reasons) > 0 {
			attrs = append(attrs, observe.Attr{Key: cmp.Or(plugin, "reason"), Value: strings.Join(reasons, ", ")})
		}
	}
	if msg := err.Diagnosis.PreFilterMsg; msg != "" && len(attrs) == 0 {
		plugins := slices.Sorted(maps.Keys(err.Diagnosis.UnschedulablePlugins))
		attrs = append(attrs, observe.Attr{Key: cmp.Or(strings.Join(plugins, "+"), "reason"), Value: msg})
	}
	if msg := err.Diagnosis.PostFilterMsg; msg != "" {
		attrs = append(attrs, observe.Attr{Key: "preemption", Value: strings.TrimPrefix(msg, "preemption: ")})
	}
	return attrs
}
