package command_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// TestDetachWithoutProc hides /proc, which has the path of the program.
func TestDetachWithoutProc(t *testing.T) {
	t.Parallel()
	testutil.Sandbox(t, program.Command(t), 0) // skips the test where there are no namespaces
	const hidden = `mount -t tmpfs none /proc && exec "$0" "$@"`
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"up", "-d"}, 1, "mount /proc, or run up without --detach"},
		{[]string{"run", "--kubernetes", "1.36,1.37", "--", "true"}, 125, "mount /proc, or name one version"},
	} {
		cmd := program.Command(t)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", hidden, program.Path()}, c.args...)
		testutil.Sandbox(t, cmd, 0)
		program.RequireFailure(t, cmd, c.code, "cannot find this program to start it again", c.want)
	}
}

// TestLimitOfAddressSpace sets a limit that has no room for the database.
func TestLimitOfAddressSpace(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t)
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -v 6000000; exec "$0" "$@"`, program.Path(), "run"}, minimal("--", "true")...)
	program.RequireFailure(t, cmd, 125, "cannot allocate memory: ", "(ulimit -v) to at least 12582912 KiB")
}

// TestSmallTemporaryFolder has a disk for temporary files that is too small for a start.
func TestSmallTemporaryFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"run", "--", "true"}, 125, "or set TMPDIR to a folder on a larger disk, and start again"},
		{[]string{"up", "--ephemeral", "--ui", "none"}, 1, "or set TMPDIR to a folder on a larger disk, and start again"},
		{[]string{"up", "--data-dir", "d", "--ui", "none"}, 1, "or choose a --data-dir on a larger disk, and start again"},
	} {
		cmd := program.Command(t)
		const small = `mount -t tmpfs -o size=64m none . && cd "$PWD" && exec "$0" "$@"`
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", small, program.Path()}, c.args...)
		testutil.Sandbox(t, cmd, 0)
		program.RequireFailure(t, cmd, c.code, " MiB free and a start needs 72 MiB: free space, "+c.want)
	}
}

// TestPrivilegedPort has a user without privileges.
func TestPrivilegedPort(t *testing.T) {
	t.Parallel()
	if first, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err != nil || strings.TrimSpace(string(first)) != "1024" {
		t.Skipf("users may use other ports: %q, %v", first, err)
	}
	cmd := program.Command(t, "run", "--port", "80", "--", "true")
	testutil.Sandbox(t, cmd, 1000)
	program.RequireFailure(t, cmd, 125, "cannot listen on 127.0.0.1:80: permission denied: choose a --port of at least 1024")
}

// TestListInaccessible has a data folder of another user, and a user without privileges.
func TestListInaccessible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) }) // so that it can be removed
	cmd := program.Command(t, "--data-dir", dir, "list")
	testutil.Sandbox(t, cmd, 1000)
	if stdout, stderr, _ := program.Run(t, cmd); !strings.Contains(stdout, "inaccessible: data folder "+dir+" cannot be used (") {
		t.Errorf("got %s%s", stdout, stderr)
	}
}

// inotifyLimited is a command of sh that runs a program with a limit of inotify instances, its first argument.
const inotifyLimited = `echo "$1" > /proc/sys/user/max_inotify_instances && shift && exec "$0" "$@"`

// TestInotifyInstances checks that a control plane with all controllers needs few of the instances that the programs of a user share.
func TestInotifyInstances(t *testing.T) {
	t.Parallel()
	const watched = `until [ "$(find /proc/$PPID/fd -lname anon_inode:inotify | wc -l)" -ge 5 ]; do sleep 0.1; done
grep -i "failed to watch" "$(dirname "$KUBECONFIG")/ctrlplane.log" || echo all are watched`
	cmd := program.Command(t)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", inotifyLimited, program.Path(), "5", "run", "--", "sh", "-c", watched}
	testutil.Sandbox(t, cmd, 0)
	if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "all are watched" {
		t.Errorf("got %s; %v", out, err)
	}
}

// TestLimitOfInotifyInstances has other programs that use all of them.
func TestLimitOfInotifyInstances(t *testing.T) {
	t.Parallel()
	cmd := program.Command(t)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", inotifyLimited, program.Path(), "0", "dev", "--", "true"}
	testutil.Sandbox(t, cmd, 0)
	program.RequireFailure(t, cmd, 125, "cannot watch files: too many open files: ", "(sysctl -w fs.inotify.max_user_instances=")
}
