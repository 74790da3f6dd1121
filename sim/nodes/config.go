package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

const (
	// MaxCount is the highest number of nodes: twice what upstream is tested with.
	MaxCount = 10000
	maxZones = 26 // zone-a to zone-z
)

// Config configures a Fleet.
type Config struct {
	// Connect returns a client configuration for the control plane without a rate
	// limit.
	Connect func(agent string) *rest.Config
	// Informers returns informers of Pods and of Nodes that run, and that outlive the Fleet.
	// Start calls it once, and does not change their objects.
	Informers func() (pods, nodes cache.SharedIndexInformer)
	// Count is how many nodes Start creates, less those that the fleet has already.
	Count int
	// CPU and Memory are the capacity of each node; empty means 32 and 256Gi.
	CPU, Memory string
	// Pods is how many Pods each node accepts; 0 means 110.
	Pods int
	// Labels are further labels of each node, as key=value.
	Labels []string
	// Taints are taints of each node, as key=value:Effect or key:Effect.
	Taints []string
	// Zones is the number of zones (zone-a, zone-b, …) of the nodes; 0 means 1.
	Zones int
	// ProviderID returns the provider ID of a node; nil sets none.
	ProviderID func(name string) string
	// CheckPod returns what is wrong with the annotations of a Pod that this package
	// does not read; nil checks nothing.
	CheckPod func(*corev1.Pod) error
	// Stages serves kwok's Stage resource and plays the stages of Pods and Nodes.
	Stages bool
	// MonitorGracePeriod is how long node-lifecycle-controller waits for a heartbeat;
	// 0 means upstream's default. Heartbeats are sent often enough for it.
	MonitorGracePeriod time.Duration
	// Warn receives one line when the API server refuses a node that Start creates; nil
	// logs it.
	Warn func(string)
	// Recorder records the events that the kubelets receive and what they write for
	// them; nil records nothing.
	Recorder *observe.Recorder
	// CompleteUpdate adds to the record of an update how the version differs from the one before; nil adds nothing.
	CompleteUpdate func(e *observe.Delivered, before, after any)
	// Commands runs the commands of containers while the Fleet is running; nil runs
	// none.
	Commands *container.Runtime
	// NotRun records what Pods do not run; nil records nothing.
	NotRun *NotRun
	// WaitTurn is called before each write for a Pod; nil does nothing. It needs Recorder.
	WaitTurn func(context.Context)
	// Logger receives the fleet's log; nil discards it.
	Logger *slog.Logger
}

// Check returns what is wrong with the configuration, on one line.
func (c Config) Check() error {
	if c.Count < 0 || c.Count > MaxCount {
		return usage.Errorf("%d nodes: choose 0 to %d", c.Count, MaxCount)
	}
	_, err := c.nodeShape()
	return err
}

// nodeShape is what all nodes of the fleet have in common.
type nodeShape struct {
	capacity   corev1.ResourceList
	labels     map[string]string
	taints     []corev1.Taint
	zones      int
	providerID func(name string) string // may be nil
	features   []string                 // that the nodes declare
}

func (c Config) nodeShape() (nodeShape, error) {
	s := nodeShape{zones: max(c.Zones, 1), providerID: c.ProviderID, features: declaredFeatures()}
	if c.Zones < 0 || c.Zones > maxZones {
		return s, usage.Errorf("%d zones: choose 1 to %d", c.Zones, maxZones)
	}
	var err error
	if s.capacity, err = c.parseCapacity(); err != nil {
		return s, err
	}
	if s.labels, err = parseLabels(c.Labels); err != nil {
		return s, err
	}
	s.taints, err = parseTaints(c.Taints)
	return s, err
}

func (c Config) parseCapacity() (corev1.ResourceList, error) {
	pods := c.Pods
	if pods == 0 {
		pods = 110
	}
	if pods < 0 || pods > 100000 {
		return nil, usage.Errorf("%d pods per node: choose 1 to 100000", c.Pods)
	}
	list := corev1.ResourceList{
		corev1.ResourcePods:             *resource.NewQuantity(int64(pods), resource.DecimalSI),
		corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	for _, q := range []struct {
		name            corev1.ResourceName
		value, fallback string
		most            string
	}{{corev1.ResourceCPU, c.CPU, "32", "1M"}, {corev1.ResourceMemory, c.Memory, "256Gi", "1Pi"}} {
		if q.value == "" {
			q.value = q.fallback
		}
		quantity, err := resource.ParseQuantity(q.value)
		if err != nil || quantity.Sign() <= 0 || quantity.Cmp(resource.MustParse(q.most)) > 0 {
			return nil, usage.Errorf("--node-%s %q: not a quantity above zero and up to %s: write it like %s", q.name, q.value, q.most, q.fallback)
		}
		list[q.name] = quantity
	}
	return list, nil
}

func parseLabels(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, item := range list {
		key, value, ok := strings.Cut(item, "=")
		if !ok {
			return nil, usage.Errorf("node label %q: write key=value", item)
		}
		if msgs := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)); len(msgs) > 0 {
			return nil, usage.Errorf("node label %q: %s", item, msgs[0])
		}
		if key == fleetLabel || key == corev1.LabelHostname {
			return nil, usage.Errorf("node label %q: this label is set by ctrlplane", item)
		}
		if old, ok := labels[key]; ok && old != value {
			return nil, usage.Errorf("node label %q: the label already has the value %q", item, old)
		}
		labels[key] = value
	}
	return labels, nil
}

func parseTaints(list []string) ([]corev1.Taint, error) {
	var taints []corev1.Taint
	for _, item := range list {
		taint, err := parseTaint(item)
		if err != nil {
			return nil, usage.Errorf("node taint %q: %w", item, err)
		}
		if slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) }) {
			return nil, usage.Errorf("node taint %q: a taint with this key and effect already exists", item)
		}
		taints = append(taints, taint)
	}
	return taints, nil
}

func parseTaint(item string) (corev1.Taint, error) {
	pair, effect, ok := strings.Cut(item, ":")
	if !ok {
		return corev1.Taint{}, fmt.Errorf("write key=value:Effect or key:Effect")
	}
	key, value, _ := strings.Cut(pair, "=")
	if msgs := slices.Concat(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)); len(msgs) > 0 {
		return corev1.Taint{}, fmt.Errorf("%s", msgs[0])
	}
	taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return taint, nil
	}
	return corev1.Taint{}, fmt.Errorf("effect %q: choose NoSchedule, PreferNoSchedule or NoExecute", effect)
}
