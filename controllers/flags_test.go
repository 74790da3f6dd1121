package controllers

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

func findFlag(t *testing.T, list []control.Flag, name string) control.Flag {
	t.Helper()
	i := slices.IndexFunc(list, func(f control.Flag) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("no flag %s", name)
	}
	f := list[i]
	f.Usage = ""
	return f
}

func TestFlags(t *testing.T) {
	s, err := New(Config{
		Args:   []string{"concurrent-job-syncs=7", "node-monitor-grace-period=8s", "node-eviction-rate=0.5", "disable-force-detach-on-timeout"},
		List:   []string{"*", "-ttl"},
		Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.1.0.0/16", CACert: "ca.crt", CAKey: "ca.key",
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Flags()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []control.Flag{
		{Set: names.JobController, Name: "concurrent-job-syncs", Default: "5", Value: "7"},
		{Set: names.NodeLifecycleController, Name: "node-monitor-grace-period", Default: "50s", Value: "8s"},
		{Set: names.NodeLifecycleController, Name: "node-eviction-rate", Default: "0.1", Value: "0.5"},
		{Set: names.PersistentVolumeAttachDetachController, Name: "disable-force-detach-on-timeout", Default: "false", Value: "true"},
		{Set: names.CertificateSigningRequestSigningController, Name: "cluster-signing-cert-file", Value: "ca.crt"},
		{Set: names.ServiceAccountController, Name: "root-ca-file", Value: "ca.crt"},
		{Set: "generic", Name: "allocate-node-cidrs", Default: "false", Value: "true"},
		{Set: "generic", Name: "cluster-cidr", Value: "10.1.0.0/16"},
		{Set: "generic", Name: "controllers", Default: "*", Value: "*,-ttl-controller"},
		{Set: names.DeploymentController, Name: "concurrent-deployment-syncs", Default: "5", Value: "5"},
		{Set: names.PersistentVolumeBinderController, Name: "flex-volume-plugin-dir", Default: "/usr/libexec/kubernetes/kubelet-plugins/volume/exec/"},
	} {
		if diff := cmp.Diff(want, findFlag(t, got, want.Name)); diff != "" {
			t.Error(diff)
		}
	}
	for _, f := range got {
		if f.Usage == "" || f.Set == "" {
			t.Errorf("no usage or set: %+v", f)
		}
	}
}

func TestFlagsOfScaledController(t *testing.T) {
	s, err := New(Config{Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.1.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	to, err := s.scaledConfigFor(names.JobController, 9)
	if err != nil {
		t.Fatal(err)
	}
	s.units[names.JobController].scaled.Store(to)
	got, err := s.Flags()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"concurrent-job-syncs": "9", "concurrent-cron-job-syncs": "5"} {
		if f := findFlag(t, got, name); f.Value != value {
			t.Errorf("got %+v, want %s", f, value)
		}
	}
}

// The explain pages show the defaults of flags: the tests of ui/explain, which does not link Kubernetes, read them from a file.
func TestDefaultFlagsAreUpToDate(t *testing.T) {
	list, err := DefaultFlags()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", f.Set, f.Name, f.Default)
	}
	testutil.Golden(t, "../ui/explain/testdata/flags.tsv", []byte(b.String()))
}

func TestDefaultFlags(t *testing.T) {
	list, err := DefaultFlags()
	if err != nil || len(list) < 100 {
		t.Fatalf("%d flags, %v", len(list), err)
	}
	for _, f := range list {
		if f.Value != f.Default {
			t.Errorf("%s: %q, default %q", f.Name, f.Value, f.Default)
		}
	}
}

// Every flag that an explain page names exists upstream, and every controller with
// flags has a page.
func TestExplainPagesNameExistingFlags(t *testing.T) {
	list, err := DefaultFlags()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range explain.Pages() {
		for _, name := range p.Flags {
			if f := findFlag(t, list, name); f.Set == p.Name {
				t.Errorf("%s: --%s is one of its own flags, which the page lists in any case", p.Name, name)
			}
		}
		for _, text := range append(p.Decides, p.Purpose) {
			for _, name := range flagNamesIn(text) {
				if !strings.HasPrefix(name, "etcd-") && !slices.Contains(p.Settings, name) && !slices.Contains(upFlags, name) {
					findFlag(t, list, name)
				}
			}
		}
	}
	for _, f := range list {
		if _, ok := explain.FindPage(f.Set); !ok && strings.HasSuffix(f.Set, "-controller") {
			t.Errorf("%s has flags, but no page", f.Set)
		}
	}
}

// upFlags are flags of "ctrlplane up" that pages mention.
var upFlags = []string{"leader-elect", "no-scheduler", "load-balancer-range", "pod-cidr"}

// flagNamesIn returns the names in a text that follow two dashes.
func flagNamesIn(text string) (found []string) {
	for _, word := range strings.Fields(text) {
		if name, ok := strings.CutPrefix(strings.Trim(word, "().,;:\""), "--"); ok {
			found = append(found, name)
		}
	}
	return found
}

// A flag that upstream adds outside of the controllers' own sections fails this test: decide
// whether it has an effect here.
func TestAllSharedFlagsAreClassified(t *testing.T) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		t.Fatal(err)
	}
	all, aliases := knownControllers(nil)
	fss := o.Flags(all, app.ControllersDisabledByDefault(), aliases)
	table := ownedFlags.Table(fss)
	var open []string
	for section, flags := range fss.FlagSets {
		if strings.HasSuffix(section, "-controller") {
			continue
		}
		flags.VisitAll(func(f *pflag.Flag) {
			if table[f.Name] == "" {
				open = append(open, f.Name)
			}
		})
	}
	slices.Sort(open)
	want := []string{
		"allocate-node-cidrs", "allow-untagged-cloud", "cidr-allocator-type", "cloud-config", "cloud-provider", "cluster-cidr", "cluster-name",
		"configure-cloud-routes", "external-cloud-volume-plugin", "leader-elect-lease-duration", "leader-elect-renew-deadline",
		"leader-elect-resource-lock", "leader-elect-resource-name", "leader-elect-resource-namespace", "leader-elect-retry-period",
		"min-resync-period", "node-sync-period", "route-reconciliation-period",
	}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Error(diff)
	}
	for section := range ownedFlags.Sections {
		if !fss.FlagSets[section].HasFlags() {
			t.Errorf("upstream has no flags in section %q", section)
		}
	}
}

func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	for arg, want := range map[string]string{
		"kube-api-qps=1": "no rate limit", "v=5": "-v", "profiling=false": "profiles", "use-service-account-credentials=false": "identity",
	} {
		_, err := New(Config{Args: []string{arg}, Logger: slog.New(slog.DiscardHandler), PodCIDR: "10.1.0.0/16"})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, new(usage.Error)) {
			t.Errorf("%s: got %v, want a usage error that contains %q", arg, err, want)
		}
	}
}
