package apiserver

import (
	"context"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // registers the kinds

	"github.com/ctrlplane/ctrlplane/observe"
)

// changingPlugin changes an object as upstream's plugin of policies does.
type changingPlugin struct {
	admission.Interface
	reads  bool // there are policies for the write
	change func(*core.Pod)
}

func (p changingPlugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if p.reads {
		pod := a.GetObject().(*core.Pod)
		if p.change != nil {
			p.change(pod)
			a.GetReinvocationContext().SetShouldReinvoke()
		}
	}
	return nil
}

func TestChangesOfPoliciesAreNoted(t *testing.T) {
	for name, tc := range map[string]struct {
		reads  bool
		change func(*core.Pod)
		want   []observe.Webhook
	}{
		"no policy":           {false, nil, nil},
		"policy without rule": {true, nil, nil},
		"same value":          {true, func(p *core.Pod) { p.Labels["a"] = "b" }, nil},
		"label and image": {true, func(p *core.Pod) {
			p.Labels["example.com/team"] = "x"
			p.Spec.Containers[0].Image = "y"
			p.Spec.ServiceAccountName = "s"
		}, []observe.Webhook{{Outcome: observe.WebhookChanged, Fields: []string{"metadata.labels[example.com/team]", "spec.containers", "spec.serviceAccountName"}}}},
		"removal": {true, func(p *core.Pod) { p.Labels = nil }, []observe.Webhook{{Outcome: observe.WebhookChanged, Fields: []string{"metadata.labels.a"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}}, Spec: core.PodSpec{
				SecurityContext: &core.PodSecurityContext{}, Containers: []core.Container{{Name: "c", Image: "x"}},
			}}
			a := admission.NewAttributesRecord(pod, nil, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "default", "p",
				schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "", admission.Create, &metav1.CreateOptions{}, false, nil)
			plugin := notingPlugin(changingPlugin{reads: tc.reads, change: tc.change}, mutatingpolicy.PluginName).(admission.MutationInterface)
			var served observe.ServedCall
			var err error
			served.Serve("client", func() {
				err = plugin.Admit(t.Context(), a, admission.NewObjectInterfacesFromScheme(legacyscheme.Scheme))
			})
			if got := served.Webhooks(); err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v: %v", got, tc.want, err)
			}
			if got := a.GetReinvocationContext().ShouldReinvoke(); got != (tc.change != nil) {
				t.Errorf("another round of the plugins: %v", got)
			}
		})
	}
}
