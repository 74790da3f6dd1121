package controllers

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestCheckList(t *testing.T) {
	for _, tc := range []struct {
		list string
		err  string // part of it; empty = none
	}{
		{"*", ""},
		{"*,-cronjob-controller", ""},
		{"deployment,-job", ""}, // aliases
		{"deployment-controler", `did you mean "deployment-controller"?`},
		{"*,-deploymnt", `unknown controller "deploymnt"`},
		{"-*", `unknown controller "*"`},
		{"", `unknown controller ""`},
	} {
		err := checkList(strings.Split(tc.list, ","), nil)
		switch {
		case tc.err == "" && err != nil:
			t.Errorf("%s: %v", tc.list, err)
		case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
			t.Errorf("%s: got %v, want %s", tc.list, err, tc.err)
		case tc.err != "" && !errors.As(err, new(usage.Error)):
			t.Errorf("%s: %T is not a usage error", tc.list, err)
		}
	}
}

func TestWarnOnlyExcluded(t *testing.T) {
	for list, want := range map[string]string{
		"*,-job":          "",
		"job,-deployment": "",
		"-job,-namespace": "--controllers=-job,-namespace turns off all controllers: to turn off only these, use --controllers='*,-job,-namespace'",
	} {
		entries := strings.Split(list, ",")
		got := WarnOnlyExcluded(entries)
		if got != want {
			t.Errorf("%s: got %q, want %q", list, got, want)
		}
		off := !slices.ContainsFunc(Catalogue(entries, nil), func(c Status) bool { return c.Reason == "" })
		if off != (want != "") {
			t.Errorf("%s: all controllers are off: %v", list, off)
		}
	}
	if got := WarnOnlyExcluded(nil); got != "" {
		t.Errorf("the default: %q", got)
	}
}

// The golden file is upstream's catalogue with the state of each controller under
// DefaultList. It changes if a release of upstream adds or removes controllers.
func TestCatalogue(t *testing.T) {
	var b strings.Builder
	for _, c := range Catalogue(DefaultList, nil) {
		reason := c.Reason
		if reason == "" {
			reason = "on"
		}
		b.WriteString(c.Name + " [" + strings.Join(c.Aliases, ",") + "] " + reason + "\n")
	}
	testutil.Golden(t, "testdata/catalogue.txt", []byte(b.String()))
}

func TestOffReason(t *testing.T) {
	reasons := func(list ...string) map[string]string {
		m := map[string]string{}
		for _, c := range Catalogue(list, nil) {
			m[c.Name] = c.Reason
		}
		return m
	}
	for _, tc := range []struct {
		list         []string
		name, reason string
	}{
		{[]string{"*"}, "deployment-controller", ""},
		{[]string{"*"}, "bootstrap-signer-controller", "off by default"},
		{[]string{"*", "bootstrapsigner"}, "bootstrap-signer-controller", ""},
		{[]string{"*", "-deployment"}, "deployment-controller", "turned off by --controllers"},
		{[]string{"job"}, "deployment-controller", "not in --controllers"},
	} {
		if got := reasons(tc.list...)[tc.name]; got != tc.reason {
			t.Errorf("%v: %s: got %q, want %q", tc.list, tc.name, got, tc.reason)
		}
	}
}

func TestNewRefusesInvalidFlags(t *testing.T) {
	for arg, want := range map[string]string{
		"no-such-flag=1":                `unknown flag "no-such-flag"`,
		"concurrent-deployment-sync=1":  `did you mean "concurrent-deployment-syncs"?`,
		"concurrent-deployment-syncs=x": "concurrent-deployment-syncs",
		"concurrent-deployment-syncs":   "needs a value",
		"kubeconfig=/x":                 "cannot be set",
	} {
		_, err := New(Config{Args: []string{arg}, Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.244.0.0/16"})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(usage.Error)) {
			t.Errorf("%s: got %v, want a usage error with %s", arg, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one line: %v", arg, err)
		}
	}
}

func TestNewKeepsOurDefaultsAndTheUsersFlags(t *testing.T) {
	s, err := New(Config{
		Args:    []string{"concurrent-deployment-syncs=7", "--cluster-name=mine"},
		Logger:  slog.New(slog.DiscardHandler),
		PodCIDR: "10.1.0.0/16", ServiceCIDR: "10.2.0.0/16", CACert: "ca.crt", CAKey: "ca.key", ServiceAccountKey: "sa.key",
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.config
	got := []any{c.DeploymentController.ConcurrentDeploymentSyncs, c.KubeCloudShared.ClusterName, c.KubeCloudShared.AllocateNodeCIDRs,
		c.KubeCloudShared.ClusterCIDR, c.NodeIPAMController.ServiceCIDR, c.SAController.RootCAFile, c.SAController.ServiceAccountKeyFile,
		c.CSRSigningController.ClusterSigningCertFile, c.Generic.LeaderElection.LeaderElect}
	want := []any{int32(7), "mine", true, "10.1.0.0/16", "10.2.0.0/16", "ca.crt", "sa.key", "ca.crt", false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// An extra controller is listed, found by its alias, and turned off as upstream's are.
func TestExtraControllers(t *testing.T) {
	extra := []ExtraController{{Name: "service-lb-controller", Aliases: []string{"service"}}, {Name: "never", OffReason: "because"}}
	reason := func(name string, list ...string) string {
		all := Catalogue(list, extra)
		return all[slices.IndexFunc(all, func(s Status) bool { return s.Name == name })].Reason
	}
	for want, got := range map[string]string{
		"":                            reason("service-lb-controller", DefaultList...),
		"turned off by --controllers": reason("service-lb-controller", "*", "-service"),
		"not in --controllers":        reason("service-lb-controller", "job"),
		"because":                     reason("never", "never"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if err := checkList([]string{"*", "-service", "never"}, extra); err != nil {
		t.Error(err)
	}
	if err := checkList([]string{"servce"}, extra); err == nil || !strings.Contains(err.Error(), `did you mean "service"?`) {
		t.Errorf("got %v", err)
	}
	if _, err := New(Config{List: []string{"*", "-service"}, Extra: extra, PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/12", Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Error(err)
	}
}
