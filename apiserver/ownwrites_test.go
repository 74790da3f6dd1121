package apiserver

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/authentication/user"
)

var errRefused = errors.New("refused")

// refusingPlugin is an admission plugin that only validates.
type refusingPlugin struct{ admission.Interface }

func (refusingPlugin) Validate(context.Context, admission.Attributes, admission.ObjectInterfaces) error {
	return errRefused
}

type requestOf struct {
	admission.Attributes
	name string
}

func (r requestOf) GetUserInfo() user.Info { return &user.DefaultInfo{Name: r.name} }

func (requestOf) GetOperationOptions() runtime.Object { return nil }

// A restore, too, completes what the API server needs when webhooks of the restored state refuse it.
func TestOwnWritesAreExemptAfterARestore(t *testing.T) {
	w := &ownWrites{}
	w.webhooksApply.Store(true)
	plugin := w.decorate(refusingPlugin{}, validatingwebhook.PluginName).(admission.ValidationInterface)
	end := w.exempt()
	if err := plugin.Validate(t.Context(), requestOf{name: user.APIServerUser}, nil); err != nil {
		t.Error(err)
	}
	end()
	if err := plugin.Validate(t.Context(), requestOf{name: user.APIServerUser}, nil); !errors.Is(err, errRefused) {
		t.Errorf("afterwards: got %v, want %v", err, errRefused)
	}
}

func TestOwnWritesAreExemptDuringStart(t *testing.T) {
	w := &ownWrites{}
	for name, test := range map[string]struct {
		plugin, user string
		started      bool
		want         error
	}{
		"own write during the start":      {validatingwebhook.PluginName, user.APIServerUser, false, nil},
		"own write later":                 {validatingwebhook.PluginName, user.APIServerUser, true, errRefused},
		"user's write during the start":   {validatingwebhook.PluginName, "alice", false, errRefused},
		"plugin that users cannot change": {"LimitRanger", user.APIServerUser, false, errRefused},
	} {
		t.Run(name, func(t *testing.T) {
			w.webhooksApply.Store(test.started)
			plugin := w.decorate(refusingPlugin{}, test.plugin)
			if err := plugin.(admission.ValidationInterface).Validate(t.Context(), requestOf{name: test.user}, nil); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if m, ok := plugin.(admission.MutationInterface); ok {
				if err := m.Admit(t.Context(), requestOf{name: test.user}, nil); err != nil {
					t.Errorf("a plugin that mutates nothing: %v", err)
				}
			}
		})
	}
}
