package scheduler

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const configHeader = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func writeConfigFile(t *testing.T, content string) string {
	t.Helper()
	return testutil.WriteFile(t, filepath.Join(t.TempDir(), "scheduler.yaml"), content)
}

func TestNewRefusesConfigFile(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"no YAML":        {"x: [", "did not find expected node content"},
		"empty":          {"", "write apiVersion: kubescheduler.config.k8s.io/v1 and kind: KubeSchedulerConfiguration"},
		"another kind":   {"apiVersion: v1\nkind: Pod\n", "not a scheduler configuration"},
		"no version":     {"kind: KubeSchedulerConfiguration\n", "not a scheduler configuration"},
		"old version":    {strings.Replace(configHeader, "/v1", "/v1beta3", 1), "not a scheduler configuration"},
		"unknown field":  {configHeader + "paralelism: 3\n", `unknown field "paralelism"`},
		"another type":   {configHeader + "parallelism: many\n", "cannot unmarshal"},
		"out of range":   {configHeader + "parallelism: -1\n", "parallelism: Invalid value: -1"},
		"two profiles":   {configHeader + "profiles: [{schedulerName: a}, {schedulerName: a}]\n", "Duplicate value"},
		"unknown plugin": {configHeader + "profiles: [{plugins: {score: {enabled: [{name: Nonesuch}]}}}]\n", `"Nonesuch" does not exist`},
		"plugin's arguments": {configHeader + "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]\n",
			"scoringStrategy"},
		"extender": {configHeader + "extenders: [{urlPrefix: 'http://127.0.0.1:1', weight: -1, prioritizeVerb: p}]\n", "weight"},
	} {
		t.Run(name, func(t *testing.T) {
			file := writeConfigFile(t, tc.content)
			_, err := New(Config{ConfigFile: file, Logger: slog.New(slog.DiscardHandler)})
			wantUsageError(t, err, "--scheduler-config "+file+": ", tc.want)
		})
	}
}

func TestNewRefusesMissingConfigFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	_, err := New(Config{ConfigFile: file, Logger: slog.New(slog.DiscardHandler)})
	wantUsageError(t, err, "--scheduler-config "+file+": ", "no such file")
	if strings.Count(err.Error(), file) != 1 {
		t.Errorf("the error does not name the file exactly once: %v", err)
	}
}

func TestNewRefusesArgs(t *testing.T) {
	for _, tc := range []struct{ arg, want string }{
		{"nonesuch=1", `unknown flag "nonesuch"`},
		{"pod-max-in-unschedulable-pods-duration=soon", "invalid argument"},
		{"config=x", "use --scheduler-config"},
		{"leader-elect=true", "use --leader-elect"},
		{"secure-port=1", "its endpoints are served by the API server"},
		{"feature-gates=A=true", "use --feature-gates"},
		{"kube-api-qps=1", "no rate limit"},
		{"v=4", "use --log-level, --log-format and -v"},
	} {
		_, err := New(Config{Args: []string{tc.arg}, Logger: slog.New(slog.DiscardHandler)})
		wantUsageError(t, err, "--kube-scheduler-arg "+tc.arg+": ", tc.want)
	}
}

func wantUsageError(t *testing.T, err error, prefix, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error; want %s… %s", prefix, want)
	case !errors.As(err, new(usage.Error)) || strings.Contains(err.Error(), "\n"):
		t.Errorf("not a usage error on one line: %v", err)
	case !strings.HasPrefix(err.Error(), prefix) || !strings.Contains(err.Error(), want):
		t.Errorf("got %v; want %s… %s", err, prefix, want)
	}
}

// A flag that upstream adds fails this test: decide whether it has an effect here.
func TestAllUpstreamFlagsAreClassified(t *testing.T) {
	o := options.NewOptions()
	table := ownedFlags.Table(*o.Flags)
	var open []string
	for _, fs := range o.Flags.FlagSets {
		fs.VisitAll(func(f *pflag.Flag) {
			if table[f.Name] == "" {
				open = append(open, f.Name)
			}
		})
	}
	if diff := cmp.Diff([]string{"pod-max-in-unschedulable-pods-duration"}, open); diff != "" {
		t.Error(diff)
	}
	for section := range ownedFlags.Sections {
		if !o.Flags.FlagSets[section].HasFlags() {
			t.Errorf("upstream has no flags in section %q", section)
		}
	}
}

func TestNewReadsConfigFileAndArgs(t *testing.T) {
	s, err := New(Config{
		ConfigFile: writeConfigFile(t, configHeader+"parallelism: 3\nclientConnection: {kubeconfig: /none}\nprofiles: [{schedulerName: mine}]\n"),
		Args:       []string{"pod-max-in-unschedulable-pods-duration=7s"},
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.component.Parallelism != 3 || s.component.Profiles[0].SchedulerName != "mine" || s.maxUnschedulable != 7*time.Second {
		t.Errorf("got %+v, %v", s.component, s.maxUnschedulable)
	}
}

func TestFieldsWithoutEffectAreLogged(t *testing.T) {
	for fields, want := range map[string]string{
		"parallelism: 3": "",
		"clientConnection: {qps: 1}\nleaderElection: {leaderElect: true, resourceName: mine}\nenableProfiling: false": "fields=\"clientConnection, leaderElection, enableProfiling, enableContentionProfiling\"",
	} {
		var log strings.Builder
		if _, err := New(Config{ConfigFile: writeConfigFile(t, configHeader+fields+"\n"), Logger: slog.New(slog.NewTextHandler(&log, nil))}); err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: logged %q, want %q", fields, got, want)
		}
	}
}
