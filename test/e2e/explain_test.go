package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// explainEntries returns the explain page of every controller.
func explainEntries(t *testing.T) map[string]explain.Entry {
	t.Helper()
	src := newRemoteClient(t)
	s, err := src.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := explain.Facts{Snapshot: &s}
	if k.Flags, err = src.Flags(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k.RBAC, err = explain.ReadRBAC(t.Context(), controlPlane.client.RbacV1()); err != nil {
		t.Fatal(err)
	}
	all := map[string]explain.Entry{}
	for _, c := range s.Controllers {
		p, ok := explain.FindPage(c.Name)
		if !ok {
			t.Errorf("%s has no page", c.Name)
		}
		all[c.Name] = p.NewEntry(k)
	}
	return all
}

// Pages agree with what is observed: queues, permissions and writes.
func TestExplainAgreesWithObservation(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	var all map[string]explain.Entry
	await(t, "pages with the writes of a Deployment's controllers", func(context.Context) (missing []string, err error) {
		all = explainEntries(t)
		for name, want := range map[string][]string{
			"deployment-controller": {"create replicasets.apps", "update deployments.apps/status"},
			"replicaset-controller": {"create pods", "update replicasets.apps/status"},
		} {
			for _, w := range want {
				if !slices.ContainsFunc(all[name].Writes, func(e observe.WriteCount) bool { return e.Verb+" "+e.Resource == w }) {
					missing = append(missing, name+": "+w)
				}
			}
		}
		return missing, nil
	}, func(missing []string) bool { return len(missing) == 0 })
	if len(all) < 55 {
		t.Errorf("only %d controllers and parts", len(all))
	}
	for name, e := range all {
		if name == "kube-apiserver" { // has 30 small queues without a page
			continue
		}
		for _, q := range e.Queues {
			if q.Name != "" && q.Key == "" {
				t.Errorf("%s: its page does not say what a key of queue %s is", name, q.Name)
			}
		}
		if e.State != string(controllers.Running) {
			continue
		}
		if len(e.Permissions) == 0 {
			t.Errorf("%s: nothing is allowed to %v", name, e.As)
		}
		for _, w := range e.Writes {
			if !slices.ContainsFunc(e.Permissions, func(p explain.Permission) bool { return rulesAllow(p.Rules, w.Verb, w.Resource) }) {
				t.Errorf("%s writes %s %s, which nothing allows to %v: %+v", name, w.Verb, w.Resource, e.As, e.Permissions)
			}
		}
	}
}

// rulesAllow reports whether a rule allows verb on RESOURCE[.GROUP][/SUBRESOURCE].
func rulesAllow(rules []explain.Rule, verb, resource string) bool {
	resource, sub, _ := strings.Cut(resource, "/")
	name, group, _ := strings.Cut(resource, ".")
	return slices.ContainsFunc(rules, func(r explain.Rule) bool {
		return matchesVerb(r.Verbs, verb) && slices.ContainsFunc(r.On, func(on string) bool {
			on, onSub, _ := strings.Cut(on, "/")
			onName, onGroup, _ := strings.Cut(on, ".")
			all := onName == "*" && onSub == ""
			return (all || sub == onSub) && (onName == "*" || onName == name) && (onGroup == "*" || onGroup == group)
		})
	})
}

func matchesVerb(verbs []string, verb string) bool {
	return slices.Contains(verbs, "*") || slices.Contains(verbs, verb)
}

// Every work queue that a page describes exists once its controller runs.
func TestExplainQueuesExist(t *testing.T) {
	t.Parallel()
	await(t, "queues of all pages", func(context.Context) (missing []string, err error) {
		s, err := newRemoteClient(t).Snapshot(t.Context())
		for _, c := range s.Controllers {
			if c.Name == controllernames.SimulatedKubelet { // its queues are in its records only
				continue
			}
			p, _ := explain.FindPage(c.Name)
			for name := range p.Queues {
				seen := false
				for _, q := range s.Queues {
					seen = seen || q.Controller == c.Name && q.Name == name
				}
				if !seen && name != "" && c.State == string(controllers.Running) {
					missing = append(missing, c.Name+" "+name)
				}
			}
		}
		return missing, err
	}, func(missing []string) bool { return len(missing) == 0 })
}

// Pages show the flag values of this control plane.
func TestExplainFlags(t *testing.T) {
	t.Parallel()
	e := explainEntries(t)["node-lifecycle-controller"]
	values := map[string]string{}
	for _, f := range e.Flags {
		values[f.Name] = f.Value + ", by default " + f.Default
	}
	for name, want := range map[string]string{
		"node-monitor-grace-period": nodeGracePeriod.String() + ", by default 50s",
		"node-monitor-period":       nodeMonitorPeriod.String() + ", by default 5s",
		"unhealthy-zone-threshold":  "0.55, by default 0.55",
	} {
		if values[name] != want {
			t.Errorf("%s: got %q, want %q", name, values[name], want)
		}
	}
}
