package trace

import (
	"testing"

	"github.com/ctrlplane/ctrlplane/observe"
)

func TestFindActor(t *testing.T) {
	now := observe.Snapshot{
		Controllers: []observe.Controller{{Name: "replicaset-controller", Aliases: []string{"replicaset"}}, {Name: "shop-operator/site"}},
		Clients: []observe.Client{
			{Name: "kubectl (alice)"}, {Name: "kubectl (bob)"}, {Name: "shop-operator (system:serviceaccount:shop:operator)"},
			{Name: "agent (alice)"}, {Name: "agent (bob)", Connected: true},
		},
	}
	for _, tc := range []struct{ word, want, problem string }{
		{"replicaset-controller", "replicaset-controller", ""},
		{"replicaset", "replicaset-controller", ""},
		{"shop-operator/site", "shop-operator/site", ""},
		{"shop-operator", "shop-operator (system:serviceaccount:shop:operator)", ""},
		{"kubectl (bob)", "kubectl (bob)", ""},
		{"agent", "agent (bob)", ""},
		{"kubectl", "", `"kubectl" is the program of 2 clients: name one of "kubectl (alice)", "kubectl (bob)"`},
		{"replicsaet", "", `unknown controller or client "replicsaet": did you mean "replicaset"?`},
		{"shop-oprator", "", `unknown controller or client "shop-oprator": did you mean "shop-operator"?`},
		{"zzz", "", `unknown controller or client "zzz": "ctrlplane controllers" lists controllers, and the clients are "kubectl (alice)", "kubectl (bob)", "shop-operator (system:serviceaccount:shop:operator)", "agent (alice)", "agent (bob)"`},
	} {
		name, err := FindActor(now, tc.word)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		if name != tc.want || problem != tc.problem {
			t.Errorf("%s: got %q, %q; want %q, %q", tc.word, name, problem, tc.want, tc.problem)
		}
	}
}
