package shell

import (
	"strings"
	"testing"
)

// TestScriptsOnStdin checks where a script on the standard input is split into commands. What a
// command reads is the rest of the script, from the line after the command.
func TestScriptsOnStdin(t *testing.T) {
	for _, tt := range []struct {
		script, want string
		status       int
	}{
		{"echo a \\\nb\necho c", "a b\nc\n", 0},
		{"echo a \\\\\necho b \\", "a \\\nb\n", 0},
		{"x=a\\\nb; echo \"$x \\\nc\" 'd\\\ne'", "ab c d\\\ne\n", 0},
		{"# comment \\\necho a\n\n\\\necho b", "a\nb\n", 0},
		{"cat >f <<'EOF'\n$x \\\nEO\nEOF\ncat f; cat <<\\A <<-\"B\"\na\nA\n\tb\n\tB\necho c", "$x \\\nEO\nb\nc\n", 0},
		{"cat <<EOF && echo c\n$((1+1)) \\\nb\nEOF\nread x\nd\necho $x", "2 b\nc\nd\n", 0},
		{"read x\na\necho $x\nif read x; then\necho $x\nfi\nb\nf() {\nread x; echo $x\n}\nf\nc\n{ read x; } && echo $x\nd\nread x & wait; cat\ne\n", "a\nb\nc\nd\ne\n", 0},
		{"case a in\na) read x;;\nesac\nb\nwhile read x &&\necho $x; do break; done # comment\nc\n(read x; echo $x)\nd\necho $x |\ncat; cat <<'EOF'; read y\ne\nEOF\nf\necho $y", "c\nd\nc\ne\nf\n", 0},
		{"echo a; exit 3\necho b", "a\n", 3},
		{"echo a\necho b; )\necho c", "a\n", 2},
		{"trap 'echo bye' EXIT\necho $LINENO", "2\nbye\n", 0},
		{"if true; then\necho a", "", 2},
		{"cat <<'EOF'\na", "", 2},
		{"echo a\n: ${x:?}\necho b", "a\n", 2},
		{"", "", 0},
		{"\n\n", "", 0},
		{"false", "", 1},
	} {
		stdout, stderr, result := run(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader(tt.script)})
		if stdout != tt.want || result.ExitCode != tt.status {
			t.Errorf("%q: status %d, want %d; output %q, want %q; errors: %s", tt.script, result.ExitCode, tt.status, stdout, tt.want, stderr)
		}
	}
	_, stderr, _ := run(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader("echo a\nif )\n")})
	if !strings.HasPrefix(stderr, "sh: line 2: syntax error: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("got %q", stderr)
	}
}

// TestLongCommandOnStdin checks that a command is parsed once, not again for each of its lines,
// and that its length is limited.
func TestLongCommandOnStdin(t *testing.T) {
	long := "cat >f <<EOF\n" + strings.Repeat("line\n", 48_000) + "EOF\n"
	stdout, stderr, _ := run(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader(long + long + "wc -c <f")})
	if stdout != "240000\n" {
		t.Errorf("output %q; errors: %s", stdout, stderr)
	}
	_, stderr, result := run(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader("cat <<EOF\n" + strings.Repeat("line\n", maxScript/5))})
	if want := "sh: syntax error: longer than 256 KiB\n"; stderr != want || result.ExitCode != 2 {
		t.Errorf("got %+v, %q, want %q", result, stderr, want)
	}
	_, stderr, result = run(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader(strings.Repeat("(\n", 2000))})
	if want := "sh: syntax error: nested too deeply\n"; stderr != want || result.ExitCode != 2 {
		t.Errorf("got %+v, %q, want %q", result, stderr, want)
	}
}
