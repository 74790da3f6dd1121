package shell

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

const (
	confinedVariable = "CTRLPLANE_SHELL_TEST_CONFINED"
	beginMark        = "/shell-test-begin"
	endMark          = "/shell-test-end"
)

// reaching are constructs that an interpreter may look up on the host.
var reaching = []string{
	`cat /etc/hostname /proc/self/environ /proc/1/cmdline ~root/x ~daemon/x ~nosuch/x ~/x`,
	`type ls; type -p ls; command -v ls nosuch; command -V cat; which sh; hash -r`,
	`. /etc/profile; . nosuch; source ./x; pwd -P; cd -P /tmp; cd ~; cd -; pushd /; dirs`,
	`cat <(echo x); echo x > >(cat); coproc cat; exec /bin/ls; /usr/bin/env ls`,
	`echo /etc/* /proc/*/status /*/*; [ -t 0 ]; [ -e /etc/shadow ]; [ -O / ]; test -r /root; [[ -G /etc ]]`,
	`date; date -d tomorrow; TZ=Europe/Berlin date; ls -l /etc; stat /etc/passwd; touch -d 2020-01-01 f; find / -newer f; df; du; ps; id; whoami; hostname -i; getent hosts x; getent passwd`,
	`TMPDIR=/tmp mktemp; mktemp -d; HOME= cd; HOME=/nosuch; cd; umask; ulimit -a; times; uptime; nproc; uname -a; tty; stty`,
	`wget http://127.0.0.1:1/; curl http://localhost; nslookup localhost; ping localhost; nc localhost 22; getent hosts localhost`,
	`sleep 0.01; sleep 0.01 & wait; kill -0 1; kill -9 $$`,
	`exec 3<>/dev/tcp/127.0.0.1/80; echo x >/dev/udp/127.0.0.1/53; cat </dev/tty; cat /dev/mem; cat /sys/class/net/eth0/address`,
	`tar cf - /etc | tar tf -; gzip </etc/passwd | zcat; head -c 10 /dev/urandom | md5sum; base64 /etc/group; LD_PRELOAD=x ls; PATH=/host ls`,
	`trap 'cat /etc/hosts' EXIT; bash -lc 'cat ~/.bashrc'; ENV=/etc/profile sh -i -c 'echo x'; bash --rcfile /etc/x -i -c ls`,
	`ln -s ../../../../../../etc/shadow s; cat s; cat ../../../../../../etc/shadow; cp -r / /tmp/x; echo //host/share/* 'C:\Windows'`,
}

// TestConfined runs scripts under strace: between two marks, the process opens
// no file, starts no process and makes no connection.
func TestConfined(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed")
	}
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", log, "-e", "trace=%file,%process,%network", os.Args[0], "-test.run=^TestConfinedScripts$", "-test.v")
	cmd.Env = append(os.Environ(), confinedVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("strace does not work here: %s", out)
		}
		t.Fatalf("%v: %s", err, out)
	}
	text := testutil.ReadFile(t, log)
	_, rest, began := strings.Cut(text, beginMark)
	_, rest, _ = strings.Cut(rest, "\n")
	calls, _, ended := strings.Cut(rest, endMark)
	if !began || !ended {
		t.Fatalf("the marks are missing: %s", text)
	}
	// The beginning of a call that is resumed has a line of its own. Threads of the Go runtime come, go, and interrupt each other; the last line is the one of the mark.
	ofRuntime := regexp.MustCompile(`tgkill|clone3?\(.*CLONE_THREAD|<\.\.\. \w+ resumed>|exited with 0|--- SIGURG|^\d+ +exit\(0\)|exit\(0|` + endMark)
	lines := strings.Split(calls, "\n")
	for _, line := range lines[:len(lines)-1] {
		if !ofRuntime.MatchString(line) {
			t.Errorf("the process called %s", line)
		}
	}
}

// TestConfinedScripts is what TestConfined runs under strace.
func TestConfinedScripts(t *testing.T) {
	if os.Getenv(confinedVariable) == "" {
		t.Skip("run by TestConfined")
	}
	mark(beginMark)
	defer mark(endMark)
	for _, src := range append(reaching, hostile...) {
		for _, name := range []string{"sh", "bash"} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if _, err := Run(ctx, Config{Args: []string{name, "-c", src}, FS: NewFS(4 << 20), Stdin: strings.NewReader("x\n"), Stdout: io.Discard, Stderr: io.Discard, Limits: Limits{CPUShare: 1}}); err != nil {
				t.Errorf("%q: %v", src, err)
			}
			cancel()
		}
	}
}

// mark makes a call that the log of strace shows.
func mark(name string) { _, _ = os.Stat(name) }
