package ui

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func persistentInfo() ReadyInfo {
	return ReadyInfo{
		Name:        "default",
		Took:        834 * time.Millisecond,
		URL:         "https://127.0.0.1:38917",
		Kubernetes:  "v1.37.1",
		Running:     43,
		Controllers: 47,
		Dir:         "/home/grace/.local/state/ctrlplane/default",
		Log:         "/home/grace/.local/state/ctrlplane/default/ctrlplane.log",
		Kubeconfig:  "/home/grace/.local/state/ctrlplane/default/kubeconfig",
		Command:     "ctrlplane kubectl",
	}
}

func ephemeralInfo() ReadyInfo {
	return ReadyInfo{
		Name:        "ci",
		Took:        12345 * time.Millisecond,
		URL:         "https://127.0.0.1:6443",
		Kubernetes:  "v1.37.1",
		Running:     47,
		Controllers: 47,
		Kubeconfig:  "/tmp/ctrlplane 1/kubeconfig",
		Context:     "ci",
	}
}

func TestRenderReady(t *testing.T) {
	windows := persistentInfo()
	windows.Shell = PowerShell
	windows.Dir = `C:\Users\grace\AppData\Local\ctrlplane\default`
	windows.Log = windows.Dir + `\ctrlplane.log`
	windows.Kubeconfig = windows.Dir + `\kubeconfig`
	for _, tt := range []struct {
		name string
		info ReadyInfo
	}{{"kept", persistentInfo()}, {"ephemeral", ephemeralInfo()}, {"windows", windows}} {
		for _, width := range []int{0, 40, 80, 120} {
			for _, color := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%d/%v", tt.name, width, color), func(t *testing.T) {
					mode := Mode{Color: color, ASCII: tt.name == "windows", Width: fixedWidth(width)}
					got := RenderReady(mode, tt.info)
					testutil.Golden(t, fmt.Sprintf("testdata/ready/%s-%d%s.golden", tt.name, width, map[bool]string{true: "-color"}[color]), []byte(got))
					if plain := RenderReady(Mode{ASCII: mode.ASCII, Width: mode.Width}, tt.info); stripEscapes(got) != plain {
						t.Errorf("without escapes it differs from the plain text:\n%s", stripEscapes(got))
					}
				})
			}
		}
	}
}

func TestRenderReadyInTheBackground(t *testing.T) {
	info := persistentInfo()
	info.StopCommand = "ctrlplane --name demo down"
	if got := RenderReady(Mode{}, info); !strings.Contains(got, "  To stop it: ctrlplane --name demo down\n") || strings.Contains(got, "Ctrl-C") {
		t.Errorf("got\n%s", got)
	}
}

// stripEscapes removes style escapes.
func stripEscapes(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

// Only paths and the command to copy may be wider than the terminal.
func TestRenderReadyFitsTerminal(t *testing.T) {
	for width := 20; width <= 130; width++ {
		for line := range strings.Lines(RenderReady(Mode{Color: true, Width: fixedWidth(width)}, persistentInfo())) {
			line = strings.TrimSuffix(line, "\n")
			if lipgloss.Width(line) > width && !strings.Contains(line, "/home/") && !strings.Contains(line, "https://") {
				t.Errorf("width %d: a line has %d columns: %q", width, lipgloss.Width(line), line)
			}
		}
	}
}

func closedFile(t *testing.T) *os.File {
	t.Helper()
	_, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestExportCommandQuotesValue(t *testing.T) {
	tests := []struct {
		shell Shell
		value string
		want  string
	}{
		{POSIX, "/home/a-b_c/.x@1,2+3=4:5%", "export K=/home/a-b_c/.x@1,2+3=4:5%"},
		{POSIX, "/a b", "export K='/a b'"},
		{POSIX, "/it's", `export K='/it'\''s'`},
		{POSIX, "/a$HOME`id`\"", "export K='/a$HOME`id`\"'"},
		{POSIX, "/ü", "export K='/ü'"},
		{POSIX, "", "export K=''"},
		{PowerShell, `C:\a b\c`, `$env:K = "C:\a b\c"`},
		{PowerShell, "C:\\$x`y\"z“w”v„", "$env:K = \"C:\\`$x``y`\"z`“w`”v`„\""},
	}
	for _, tt := range tests {
		if got := tt.shell.exportCommand("K", tt.value); got != tt.want {
			t.Errorf("export command for %q is\n%s\nwant\n%s", tt.value, got, tt.want)
		}
	}
}

func TestQuoteWord(t *testing.T) {
	for _, tt := range []struct {
		shell      Shell
		word, want string
	}{
		{POSIX, "out/run.ctrlrec", "out/run.ctrlrec"},
		{POSIX, "my report", "'my report'"},
		{PowerShell, `C:\out\run-1`, `C:\out\run-1`},
		{PowerShell, `C:\my report`, `"C:\my report"`},
		{PowerShell, "a,b", `"a,b"`},
		{PowerShell, "", `""`},
	} {
		if got := tt.shell.Quote(tt.word); got != tt.want {
			t.Errorf("%q is quoted as %s, want %s", tt.word, got, tt.want)
		}
	}
}

func TestQuoteCommand(t *testing.T) {
	for line, want := range map[string]string{
		`ctrlplane --data-dir C:\Users\jane down`:               `"ctrlplane --data-dir C:\Users\jane down"`,
		`ctrlplane --data-dir "C:\Users\JANEDO~1\Temp" down`:    `'ctrlplane --data-dir "C:\Users\JANEDO~1\Temp" down'`,
		`& "C:\my tools\ctrlplane.exe" --data-dir \\nas\x down`: `'& "C:\my tools\ctrlplane.exe" --data-dir \\nas\x down'`,
		`ctrlplane --data-dir '/a b' down`:                      `"ctrlplane --data-dir '/a b' down"`,
		"ctrlplane --data-dir '/a\x1bb' down":                   `"ctrlplane --data-dir '/a\x1bb' down"`,
	} {
		if got := QuoteCommand(line); got != want {
			t.Errorf("%s is quoted as\n%s\nwant\n%s", line, got, want)
		}
	}
}

func TestProgramInShell(t *testing.T) {
	for _, tt := range []struct {
		shell      Shell
		path, want string
	}{
		{POSIX, "bin/ctrlplane", "bin/ctrlplane"},
		{POSIX, "/my tools/ctrlplane", "'/my tools/ctrlplane'"},
		{PowerShell, `C:\bin\ctrlplane.exe`, `C:\bin\ctrlplane.exe`},
		{PowerShell, `C:\my tools\ctrlplane.exe`, `& "C:\my tools\ctrlplane.exe"`},
	} {
		if got := tt.shell.Program(tt.path); got != tt.want {
			t.Errorf("%s is called as %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestExportCommandInShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	for _, value := range []string{"/plain/path", "/a b", "/it's", "/$HOME`id`\"\\n", "/*?[a]{b,c}~#!&;|<>()", "/grün", ""} {
		out, err := exec.Command(sh, "-c", POSIX.exportCommand("K", value)+`; printf %s "$K"`).Output()
		if err != nil || string(out) != value {
			t.Errorf("sh reads %q, %v; want %q", out, err, value)
		}
	}
}

func TestDetectShell(t *testing.T) {
	tests := []struct {
		goos    string
		environ []string
		want    Shell
	}{
		{"linux", nil, POSIX},
		{"darwin", []string{"SHELL=/bin/zsh"}, POSIX},
		{"windows", []string{"ComSpec=cmd.exe"}, PowerShell},
		{"windows", []string{"SHELL=/usr/bin/bash"}, POSIX},
	}
	for _, tt := range tests {
		if got := DetectShell(tt.goos, tt.environ); got != tt.want {
			t.Errorf("DetectShell(%s, %q) = %v, want %v", tt.goos, tt.environ, got, tt.want)
		}
	}
}
