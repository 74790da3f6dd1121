package datadir

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The test binary runs itself as another process: helperEnv selects what that process
// does, helperArg is its argument.
const (
	helperEnv = "DATADIR_TEST_HELPER"
	helperArg = "DATADIR_TEST_ARG"
)

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "":
		os.Exit(m.Run())
	case "open":
		holdUntilKilled(Open(context.Background(), os.Getenv(helperArg), 1))
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		holdUntilKilled(Open(context.Background(), os.Getenv(helperArg), 1))
	case "temp":
		holdUntilKilled(OpenTemp())
	case "temp files":
		holdUntilKilled(OpenTempFiles(LessonPrefix))
	case "churn":
		if err := cycleTempDirs(os.Getenv(helperArg)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// holdUntilKilled keeps a folder open until the process is killed.
func holdUntilKilled(d *Dir, err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(d.Path())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// cycleTempDirs opens and closes ephemeral folders, and fails if another process changes
// one of them meanwhile.
func cycleTempDirs(times string) error {
	n, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	for range n {
		d, err := OpenTemp()
		if err != nil {
			return err
		}
		if err := d.CleanupError(); err != nil {
			return err
		}
		if err := os.WriteFile(d.Join("data"), []byte("mine"), 0o600); err != nil {
			return err
		}
		for _, name := range []string{markerFile, lockFile, pidFile, "data"} {
			if _, err := os.Stat(d.Join(name)); err != nil {
				return err
			}
		}
		if err := d.Close(); err != nil {
			return err
		}
		if _, err := os.Stat(d.Path()); err == nil {
			return fmt.Errorf("%s still exists", d.Path())
		}
	}
	return nil
}

func helperCommand(t *testing.T, what, arg string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+what, helperArg+"="+arg)
	return cmd
}

// startHolder starts a process that keeps a folder open, and returns the folder's path.
func startHolder(t *testing.T, what, arg string) (path string, pid int, kill func()) {
	t.Helper()
	cmd := helperCommand(t, what, arg)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "signal: killed"
		_ = stdin.Close()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("helper %s: %v", what, err)
	}
	path = strings.TrimSpace(line)
	if !filepath.IsAbs(path) {
		t.Fatalf("helper %s: %s", what, path)
	}
	return path, cmd.Process.Pid, kill
}

func mustOpen(t *testing.T, path string) *Dir {
	t.Helper()
	d, err := Open(t.Context(), path, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, d) })
	return d
}

func mustTemp(t *testing.T) *Dir {
	t.Helper()
	d, err := OpenTemp()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, d) })
	if err := d.CleanupError(); err != nil {
		t.Error(err)
	}
	return d
}

func mustClose(t *testing.T, d *Dir) {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// readTree returns the mode and the content of everything below a folder, by path.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil && (runtime.GOOS != "windows" || e.Name() != lockFile) { // it is locked for reading, too
				return err
			}
			content = string(data)
		}
		rel, err := filepath.Rel(dir, path)
		found[rel] = info.Mode().String() + " " + content
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
