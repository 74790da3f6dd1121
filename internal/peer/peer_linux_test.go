package peer

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/procfs"
)

// fakeProcess is a process in a fake /proc.
type fakeProcess struct {
	id         int
	executable string
	args       []string
	socket     int
}

// newFinder returns a finder for a fake /proc with some processes, whose connections have the numbers of their sockets
// as ports.
func newFinder(t *testing.T, processes ...fakeProcess) *finder {
	t.Helper()
	dir := t.TempDir()
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
	return &finder{fs: fs, socket: func(_, from *net.TCPAddr) string { return fmt.Sprintf("socket:[%d]", from.Port) }}
}

func TestFindProgram(t *testing.T) {
	f := newFinder(t,
		fakeProcess{10, "/usr/bin/python3.11", []string{"python3", "operator.py", "--token", "s3cret"}, 100},
		fakeProcess{11, "/usr/bin/node", []string{"node", "op.mjs"}, 101},
		fakeProcess{12, "/srv/operator (deleted)", []string{"./operator"}, 102},
		fakeProcess{13, "/usr/bin/kubectl", []string{"kubectl", "proxy"}, 103},
		fakeProcess{os.Getpid(), "/srv/ctrlplane", []string{"ctrlplane"}, 109},
		fakeProcess{14, "", nil, 110},
	)
	for socket, want := range map[int]string{
		100: "operator.py", 101: "op.mjs", 102: "operator", 103: "",
		109: "", 110: "", 111: "",
	} {
		for range 2 { // the second one looks at the processes that were found
			if got := f.program(nil, &net.TCPAddr{Port: socket}); got != want {
				t.Errorf("socket %d: got %q, want %q", socket, got, want)
			}
		}
	}
	if len(f.recent) > maxRecent {
		t.Errorf("%d processes are remembered", len(f.recent))
	}
}

const urlEnv = "CTRLPLANE_TEST_URL"

// TestMain makes this process one of those that TestProgram runs.
func TestMain(m *testing.M) {
	url := os.Getenv(urlEnv)
	if url == "" {
		os.Exit(m.Run())
	}
	for range 2 {
		resp, err := http.Get(url)
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
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		fmt.Fprintf(w, "%s from %s\n", Program(req.Context()), req.RemoteAddr)
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
	if err != nil || len(lines) != 2 || lines[0] != lines[1] || !strings.HasPrefix(lines[0], "site-operator from ") {
		t.Errorf("got %v, %s", err, out)
	}

	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if own, err := io.ReadAll(resp.Body); err != nil || !strings.HasPrefix(string(own), " from ") {
		t.Errorf("of this process: got %v, %s", err, own)
	}
	if got := Program(t.Context()); got != "" {
		t.Errorf("without a connection: got %q", got)
	}
}
