package shell

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// session is a terminal session that a test types into.
type session struct {
	t    *testing.T
	in   *io.PipeWriter
	mu   sync.Mutex
	text string
	more chan struct{}
	done chan Result
}

func newSession(t *testing.T, args ...string) *session {
	t.Helper()
	r, w := io.Pipe()
	s := &session{t: t, in: w, more: make(chan struct{}, 1), done: make(chan Result, 1)}
	go func() {
		result, err := Run(t.Context(), Config{Args: args, Stdin: r, Stdout: s, TTY: true, Hostname: "host"})
		if err != nil {
			t.Error(err)
		}
		s.done <- result
	}()
	t.Cleanup(func() { w.Close() })
	return s
}

// Write implements [io.Writer].
func (s *session) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(b)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (s *session) types(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

// expect waits for output that matches, and forgets all up to it.
func (s *session) expect(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		at := re.FindStringIndex(s.text)
		text := s.text
		if at != nil {
			s.text = s.text[at[1]:]
		}
		s.mu.Unlock()
		if at != nil {
			return
		}
		select {
		case <-s.more:
		case <-timeout:
			s.t.Fatalf("no %q in %q", pattern, text)
		}
	}
}

func TestInteractiveShell(t *testing.T) {
	s := newSession(t, "sh")
	s.expect(`^/ # $`)
	s.types("x=1; cd /tmp\r")
	s.expect(`^x=1; cd /tmp\r\n/tmp # $`)
	s.types("echo $x\r")
	s.expect("\r\n1\r\n/tmp # $")
	s.types("echo ab\x7fc\r") // backspace
	s.expect("\r\nac\r\n/tmp # $")
	s.types("\x1b[A\r") // the line before
	s.expect("echo ac\r\nac\r\n/tmp # $")
	s.types("for i in 1 2; do\r")
	s.expect("> $")
	s.types("echo $i; done\r")
	s.expect("\r\n1\r\n2\r\n/tmp # $")
	s.types("unfinished\x03")
	s.expect(`\^C\r\n/tmp # $`)
	s.types("echo started; sleep 1000\r")
	s.expect("\r\nstarted\r\n")
	s.types("\x03")
	s.expect(`\^C\r\n/tmp # $`)
	s.types("echo $?; f() { while :; do :; done; }; f\r")
	s.expect("\r\n130\r\n")
	s.types("\x03")
	s.expect(`\^C\r\n/tmp # $`)
	s.types("echo ${nope?unset}; (\r)\r")
	s.expect("/tmp # $")
	s.types("cat\rline\r")
	s.expect("\r\nline\r\nline\r\n")
	s.types("\x04")
	s.expect("/tmp # $")
	s.types("read y\rtyped\r")
	s.expect("/tmp # $")
	s.types("trap 'echo trapped' USR1; ps\r")
	s.expect(`1 root      0:00 sh\r\n +\d+ root      0:00 ps\r\n/tmp # $`)
	s.types("kill -USR1 $$; kill -USR1 1\r")
	s.expect("trapped\r\ntrapped\r\n/tmp # $")
	s.types("echo [$y]; tty; exit 3\r")
	s.expect(`\[typed\]` + "\r\n/dev/tty\r\n")
	if got := <-s.done; got.ExitCode != 3 {
		t.Errorf("got %+v", got)
	}
}

func TestTerminalEnds(t *testing.T) {
	s := newSession(t, "sh")
	s.expect("/ # $")
	s.types("\x04") // ^D
	if got := <-s.done; got.ExitCode != 0 {
		t.Errorf("^D: got %+v", got)
	}
	s = newSession(t, "cat")
	s.types("x\r")
	s.expect("x\r\nx\r\n")
	s.types("\x03")
	if got := <-s.done; got.ExitCode != 130 {
		t.Errorf("^C: got %+v", got)
	}
	s = newSession(t, "sh")
	s.expect("/ # $")
	s.in.Close()
	if got := <-s.done; got.ExitCode != 0 {
		t.Errorf("closed: got %+v", got)
	}
}

// TestInput checks a shell without a terminal: it reads commands from its input.
func TestInput(t *testing.T) {
	out, _, result := run(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader("echo a\nread x\nvalue\necho $x\nif true\nthen echo b; fi\nexit 4\necho no\n")})
	if want := "a\nvalue\nb\n"; out != want || result.ExitCode != 4 {
		t.Errorf("got %q, %+v", out, result)
	}
	out, _, _ = run(t, Config{Args: []string{"sh", "-c", "cat; read -t 0.01 x; echo $?"}, Stdin: strings.NewReader("input")})
	if out != "input1\n" {
		t.Errorf("got %q", out)
	}
	r, w := io.Pipe()
	defer w.Close()
	out, _, _ = run(t, Config{Args: []string{"sh", "-c", "read -t 0.05 x; echo $?"}, Stdin: r})
	if out != "1\n" {
		t.Errorf("got %q", out)
	}
}
