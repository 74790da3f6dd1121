package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

func TestVersionFlag(t *testing.T) {
	t.Parallel()
	want, _, code := program.Run(t, program.Command(t, "version"))
	if code != 0 || !strings.HasPrefix(want, "ctrlplane ") {
		t.Fatalf("version: exit code %d, stdout %q", code, want)
	}
	got, stderr, code := program.Run(t, program.Command(t, "--version"))
	if code != 0 || stderr != "" || got != want {
		t.Errorf("--version: exit code %d, stderr %q, stdout %q, want %q", code, stderr, got, want)
	}
}

// TestHelpHasOnlyOwnFlags checks that flags that Kubernetes' packages register for the
// whole process do not show in the help, and are refused.
func TestHelpHasOnlyOwnFlags(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"", "up", "run", "status", "controllers pause", "snapshot save", "trace"} {
		help, _, code := program.Run(t, program.Command(t, append(strings.Fields(verb), "--help")...))
		if code != 0 || strings.Contains(help, "reported version") || verb != "" && strings.Contains(help, "--version") {
			t.Errorf("%q: exit code %d, help:\n%s", verb, code, help)
		}
	}
	program.RequireFailure(t, program.Command(t, "status", "--version"), 2, "unknown flag: --version")
}

// TestHelpFits checks that no line of any help is longer than 100 columns. That of kubectl is
// upstream's.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	for verb := range newUser(t).manPages(t) {
		if verb == "kubectl" {
			continue
		}
		help, _, code := program.Run(t, program.Command(t, append(strings.Fields(verb), "--help")...))
		if code != 0 {
			t.Errorf("%s --help: exit code %d", verb, code)
		}
		for line := range strings.Lines(help) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%s --help: %d columns: %s", verb, n, line)
			}
		}
	}
}

// TestHelpGroups checks that the verbs are grouped, and that old names work but are not
// shown.
func TestHelpGroups(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"--help": "Start, stop and manage:", "controllers --help": "Inject faults:", "nodes --help": "Inject failures:"} {
		help, _, code := program.Run(t, program.Command(t, strings.Fields(args)...))
		if code != 0 || !strings.Contains(help, "\n"+want+"\n") || strings.Contains(help, "Available Commands") || strings.Contains(help, "Additional Commands") {
			t.Errorf("%q: exit code %d, want %q:\n%s", args, code, want, help)
		}
		if strings.Contains(help, "restore ") && args != "--help" {
			t.Errorf("%q shows the old name of clear:\n%s", args, help)
		}
	}
	program.RequireFailure(t, program.Command(t, "controllers", "restore"), 2, "missing controller name")
	program.RequireFailure(t, program.Command(t, "controllers", "clear"), 2, "missing controller name")
}

// TestPlainBuildKnowsItsVersions checks that server and kubectl say which release they
// are, without flags of the linker. At its end, the command fails to stop and delete its control plane.
func TestPlainBuildKnowsItsVersions(t *testing.T) {
	t.Parallel()
	script := `"$0" kubectl version -o json && "$0" kubectl get --raw /metrics | grep '^kubernetes_build_info' && { "$0" down; echo $?; "$0" delete --force run; echo $?; }`
	out, stderr, code := program.Run(t, program.Command(t, "run", "--nodes", "0", "--", "sh", "-c", script, program.Path()))
	if !strings.HasSuffix(out, "\n1\n1\n") {
		t.Errorf("down and delete did not both fail with exit code 1:\n%s", out)
	}
	requireText(t, stderr, "belongs to the run or test that has started this command")
	if code != 0 || strings.Count(out, `"gitVersion": "v1.37.1"`) != 2 || !strings.Contains(out, `git_version="v1.37.1"`) {
		t.Errorf("exit code %d, %s\n%s", code, stderr, out)
	}
	if strings.Contains(out, "$Format") || strings.Contains(out, "1970-01-01") {
		t.Errorf("placeholders of upstream's source are left:\n%s", out)
	}
}

// TestManPages checks that each verb has a man page, and what hidden ones have not.
func TestManPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	if _, stderr, code := program.Run(t, program.Command(t, "man", dir)); code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	for _, name := range []string{"ctrlplane", "ctrlplane-up", "ctrlplane-controllers-pause", "ctrlplane-kubectl"} {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil || !strings.Contains(string(page), ".SH SYNOPSIS") {
			t.Errorf("%s.1: %v\n%s", name, err, page)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ctrlplane-man.1")); !os.IsNotExist(err) {
		t.Errorf("a hidden verb has a man page: %v", err)
	}
	program.RequireFailure(t, program.Command(t, "man"), 2, "takes one folder")
}
