package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/cmd/ctrlplane/earlystderr"
)

// The tests of this package run command lines in this process, as main does: those that end before
// they use Kubernetes' process-wide state, such as its feature gates. test/command runs the others
// as processes.

func TestMain(m *testing.M) {
	earlystderr.Release() // as main does
	os.Args[0] = "ctrlplane"
	os.Exit(m.Run())
}

// endTimeout ends a command line that serves although it should fail.
const endTimeout = time.Minute

// home is the home folder of a user who runs command lines. It is the working folder, too.
type home string

// enterHome gives the test a home folder of its own.
func enterHome(t *testing.T) home {
	t.Helper()
	h := t.TempDir()
	for name, value := range map[string]string{
		"HOME": h, "XDG_STATE_HOME": filepath.Join(h, "state"), "TMPDIR": h, "KUBECONFIG": filepath.Join(h, "user.kubeconfig"),
		dataDirEnv: "",
	} {
		t.Setenv(name, value)
	}
	t.Chdir(h)
	return home(h)
}

// result is what a command line has printed, and its exit code.
type result struct {
	stdout, stderr string
	code           int
}

// run runs a command line. It must leave the state of the process as it was, for those that follow.
func (home) run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endTimeout)
	defer cancel()
	before := processState(t)
	readBack := replaceStreams(t)
	osExit := klog.OsExit // a start sets it
	code := run(ctx, func() {}, args)
	klog.OsExit = osExit
	stdout, stderr := readBack()
	if after := processState(t); after != before {
		t.Errorf("%q has changed the state of the process from\n%s\nto\n%s", args, before, after)
	}
	return result{stdout, stderr, code}
}

// mustRun runs a command line that has to succeed without a warning, and returns its output.
func (h home) mustRun(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	r := h.run(t, args...)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("%q: exit code %d: %s", args, r.code, r.stderr)
	}
	return r.stdout
}

// requireFailure checks that a command line fails as it should: with the given exit code, and
// with one line on stderr that contains all the given texts.
func (h home) requireFailure(t *testing.T, args []string, code int, texts ...string) {
	t.Helper()
	r := h.run(t, args...)
	if r.code != code {
		t.Errorf("%q: exit code %d, want %d", args, r.code, code)
	}
	line := strings.TrimSuffix(r.stderr, "\n")
	if !strings.HasPrefix(line, "ctrlplane: ") || strings.Contains(line, "\n") {
		t.Errorf("%q: stderr is not one line that begins with the program's name: %q", args, r.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(line, text) {
			t.Errorf("%q: %q does not contain %q", args, line, text)
		}
	}
}

// requireEmpty checks that no command line has left anything in the home folder.
func (h home) requireEmpty(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(string(h)); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// replaceStreams makes the standard streams files until readBack, which returns what was
// written to them.
func replaceStreams(t *testing.T) (readBack func() (out, errOut string)) {
	t.Helper()
	dir := t.TempDir()
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	read := func(f *os.File) string {
		text, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	in, out, errOut, own := os.Stdin, os.Stdout, os.Stderr, stderr
	os.Stdin, os.Stdout, stderr = open(os.DevNull), open(filepath.Join(dir, "stdout")), open(filepath.Join(dir, "stderr"))
	os.Stderr = stderr
	return func() (string, string) {
		stdoutFile, stderrFile := os.Stdout, stderr
		os.Stdin, os.Stdout, os.Stderr, stderr = in, out, errOut, own
		return read(stdoutFile), read(stderrFile)
	}
}

// processState describes what the command lines of a process share.
func processState(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	pflag.CommandLine.Visit(func(f *pflag.Flag) { flags = append(flags, f.Name+"="+f.Value.String()) })
	emulated := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent).EmulationVersion()
	return fmt.Sprintln(folder, os.Environ(), flags, emulated, utilfeature.DefaultMutableFeatureGate, klog.V(1).Enabled())
}
