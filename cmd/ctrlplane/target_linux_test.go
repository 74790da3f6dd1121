package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// openTerminal makes stderr a terminal, and returns what shows its lines.
func openTerminal(t *testing.T) *bufio.Reader {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	own := stderr
	stderr = terminal
	t.Cleanup(func() {
		stderr = own
		terminal.Close()
	})
	return bufio.NewReader(screen)
}

// TestNoteOfKubeconfig checks that a terminal shows once that KUBECONFIG has selected another control plane than the default one.
func TestNoteOfKubeconfig(t *testing.T) {
	h := enterHome(t)
	screen := openTerminal(t)
	for _, name := range []string{"default", "grow"} {
		p := makePlane(t, filepath.Join(string(h), "state", "ctrlplane", name), name, false)
		t.Setenv("KUBECONFIG", p.copyKubeconfig(t, func(*clientcmdapi.Config) {}))
		chosen := newTestTarget(t)
		for range 2 {
			if _, err := chosen.runningDataDir(); err != nil {
				t.Fatal(err)
			}
		}
		fmt.Fprintln(stderr, "end of "+name)
	}
	grow := filepath.Join(string(h), "state", "ctrlplane", "grow")
	for _, want := range []string{"end of default", fmt.Sprintf("ctrlplane: using control plane %q in %s, as KUBECONFIG selects it", "grow", grow), "end of grow"} {
		if line, err := screen.ReadString('\n'); line != want+"\r\n" || err != nil {
			t.Fatalf("got %q, %v, want %q", line, err, want)
		}
	}
}
