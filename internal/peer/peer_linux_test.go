package peer

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// fakeProcess is a process in a fake /proc.
type fakeProcess struct {
	id         int
	executable string
	args       []string
	socket     int
}

// firstID is higher than the id of any process, such as this one.
const firstID = 1 << 23

// newFinder returns a finder for a fake /proc with some processes, whose connections have the numbers of their sockets
// as ports.
func newFinder(t *testing.T, processes ...fakeProcess) (dir string, f *finder) {
	t.Helper()
	dir = t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(name, target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range processes {
		own := strconv.Itoa(p.id)
		if err := os.MkdirAll(filepath.Join(dir, own, "fd"), 0o700); err != nil {
			t.Fatal(err)
		}
		link(own+"/fd/0", "/dev/null")
		if p.executable != "" { // that of a process of another user cannot be read
			link(own+"/exe", p.executable)
		}
		link(own+"/cwd", "/home/me/shop")
		write(own+"/cmdline", strings.Join(p.args, "\x00")+"\x00")
		link(own+"/fd/1", fmt.Sprintf("socket:[%d]", p.socket))
	}
	fs, err := procfs.NewFS(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, &finder{fs: fs, socket: func(_, from *net.TCPAddr) string { return fmt.Sprintf("socket:[%d]", from.Port) }}
}

func TestFindProgram(t *testing.T) {
	_, f := newFinder(t,
		fakeProcess{firstID + 0, "/usr/bin/python3.11", []string{"python3", "operator.py", "--token", "s3cret"}, 100},
		fakeProcess{firstID + 1, "/usr/bin/node", []string{"node", "op.mjs"}, 101},
		fakeProcess{firstID + 2, "/srv/operator (deleted)", []string{"./operator"}, 102},
		fakeProcess{firstID + 3, "/usr/bin/kubectl", []string{"kubectl", "proxy"}, 103},
		fakeProcess{firstID + 5, "/usr/sbin/nginx", []string{"nginx: worker process"}, 104},
		fakeProcess{os.Getpid(), "/srv/ctrlplane", []string{"ctrlplane"}, 109},
		fakeProcess{firstID + 4, "", nil, 110},
	)
	for socket, want := range map[int]struct {
		process
		found bool
	}{
		100: {process{firstID, "operator.py"}, true}, 101: {process{firstID + 1, "op.mjs"}, true}, 102: {process{firstID + 2, "operator"}, true},
		103: {process{}, true}, 104: {process{}, true}, 109: {process{id: os.Getpid()}, true}, 110: {}, 111: {},
	} {
		for range 2 { // the second one looks at the processes that were found
			if got, found := f.process(nil, &net.TCPAddr{Port: socket}); got != want.process || found != want.found {
				t.Errorf("socket %d: got %v, %v, want %v", socket, got, found, want)
			}
		}
	}
	if len(f.recent) > maxRecent {
		t.Errorf("%d processes are remembered", len(f.recent))
	}
}

// TestFindProgramThatForks: between fork and exec, a child has the connections of its parent.
func TestFindProgramThatForks(t *testing.T) {
	dir, f := newFinder(t,
		fakeProcess{firstID, "/usr/bin/python3.11", []string{"python3", "operator.py"}, 100},
		fakeProcess{firstID + 1, "/usr/bin/git", nil, 100},
	)
	child := filepath.Join(dir, strconv.Itoa(firstID+1))
	commandLine := filepath.Join(child, "cmdline")
	if err := os.Remove(commandLine); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(commandLine, 0o600); err != nil {
		t.Fatal(err)
	}
	executed := make(chan error, 1)
	go func() { // the child executes git once its command line is read
		pipe, err := os.OpenFile(commandLine, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(os.Remove(filepath.Join(child, "fd", "1")), os.Remove(commandLine))
			_, writeErr := pipe.WriteString("git\x00status\x00")
			err = errors.Join(err, writeErr, pipe.Close())
		}
		executed <- err
	}()
	got, _ := f.process(nil, &net.TCPAddr{Port: 100})
	if err := <-executed; err != nil {
		t.Fatal(err)
	}
	if want := (process{firstID, "operator.py"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRecentProcessesAreDistinct(t *testing.T) {
	_, f := newFinder(t)
	f.noteRecent(1)
	f.noteRecent(2)
	f.noteRecent(1)
	if !slices.Equal(f.recent, []int{1, 2}) { // the last one first
		t.Errorf("got %v", f.recent)
	}
}

func TestIsSameMachine(t *testing.T) {
	for _, tt := range []struct {
		local, remote string
		want          bool
	}{
		{"127.0.0.1", "127.0.0.1", true}, {"127.0.0.1", "127.0.0.2", true}, {"::1", "::1", true},
		{"192.0.2.1", "192.0.2.1", true}, {"::ffff:192.0.2.1", "192.0.2.1", true}, {"2001:db8::1", "2001:db8::1", true},
		{"192.0.2.1", "192.0.2.2", false},
	} {
		if got := isSameMachine(&net.TCPAddr{IP: net.ParseIP(tt.local)}, &net.TCPAddr{IP: net.ParseIP(tt.remote)}); got != tt.want {
			t.Errorf("from %s to %s: got %v", tt.remote, tt.local, got)
		}
	}
}

const urlEnv = "CTRLPLANE_TEST_URL"

// TestMain makes this process one of those that TestProgram runs.
func TestMain(m *testing.M) {
	url := os.Getenv(urlEnv)
	if url == "" {
		os.Exit(m.Run())
	}
	for _, forwardedFor := range []string{"", "", "192.0.2.1"} {
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			panic(err)
		}
		if forwardedFor != "" {
			req.Header.Set("X-Forwarded-For", forwardedFor)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		if _, err := io.Copy(os.Stdout, resp.Body); err != nil {
			panic(err)
		}
		resp.Body.Close()
	}
}

// TestProgram connects another process to a server.
func TestProgram(t *testing.T) {
	testutil.NeedSocketDiag(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, "%s %s from %s\n", Program(req), Find(req).ID(), req.RemoteAddr)
	}))
	s.Listener = Listen(s.Listener)
	s.Start()
	defer s.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args[0], cmd.Env = "./site-operator", append(os.Environ(), urlEnv+"="+s.URL)
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 3 || lines[0] != lines[1] || !strings.HasPrefix(lines[0], fmt.Sprintf("site-operator %d from ", cmd.Process.Pid)) {
		t.Errorf("got %v, %s", err, out)
	} else if !strings.HasPrefix(lines[2], "  from ") {
		t.Errorf("a proxy has the name of a program: %s", lines[2])
	}

	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if own, err := io.ReadAll(resp.Body); err != nil || !strings.HasPrefix(string(own), fmt.Sprintf(" %d from ", os.Getpid())) {
		t.Errorf("of this process: got %v, %s", err, own)
	}
	if req := httptest.NewRequest(http.MethodGet, "/", nil); Program(req) != "" || Find(req) != nil {
		t.Errorf("without a connection: got %q, %q", Program(req), Find(req).ID())
	}
}

// TestShortConnections: the process of a connection that is closed after its first answer is found if the answer waits for that.
func TestShortConnections(t *testing.T) {
	testutil.NeedSocketDiag(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p := Find(req)
		p.Await(req.Context(), time.Minute)
		fmt.Fprint(w, p.ID())
	}))
	s.Listener = Listen(s.Listener)
	s.Start()
	defer s.Close()
	own := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		resp, err := own.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		id, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(id) != strconv.Itoa(os.Getpid()) {
			t.Errorf("got %v, %s", err, id)
		}
	}
}
