package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
)

// A process that is suspended still accepts connections, as the system does that for it.
func TestSuspendedControlPlane(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client := http.Client{Transport: &http.Transport{
		TLSHandshakeTimeout: 10 * time.Millisecond, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	nowhere := &target{name: "none", dataDir: t.TempDir(), named: func() bool { return true }}
	for path, want := range map[string]bool{"/ctrlplane/v1/snapshot": true, "/webhook": false} {
		_, err := client.Get("https://" + l.Addr().String() + path)
		hinted := nowhere.hintAtSuspended(err)
		if err == nil || strings.Contains(hinted.Error(), suspended) != want || !errors.Is(hinted, err) {
			t.Errorf("%s: %v", path, hinted)
		}
		if again := nowhere.hintAtSuspended(hinted); want && again.Error() != hinted.Error() {
			t.Errorf("twice: %v", again)
		}
	}
}

// TestUnreachableControlPlane has a process whose address is in another network namespace: nothing listens there.
func TestUnreachableControlPlane(t *testing.T) {
	dir, err := datadir.Open(t.Context(), t.TempDir(), datadir.FormatVersion)
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.SaveState(datadir.State{Name: "a", Server: "https://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	here := &target{name: "default", dataDir: dir.Path(), named: func() bool { return true }}
	refused := &url.Error{Op: "Get", URL: "https://127.0.0.1:1/ctrlplane/v1/snapshot", Err: syscall.ECONNREFUSED}
	want := refused.Error() + ": a process uses data folder " + dir.Path() + ", but does not listen here"
	if got := here.hintAtUnreachable(refused); !strings.HasPrefix(got.Error(), want) || !errors.Is(got, refused) {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if got := here.hintAtUnreachable(refused); got.Error() != refused.Error() {
		t.Errorf("once it has ended: %v", got)
	}
}

func TestJoinedErrorsAreSeparated(t *testing.T) {
	var out strings.Builder
	writeError(&out, fmt.Errorf("a: %w", errors.Join(errors.New("b"), errors.New("c"))))
	if got, want := out.String(), "ctrlplane: a: b; c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHintsNameTheProgramAsItWasCalled has hints of this package, of others, and of cobra.
func TestHintsNameTheProgramAsItWasCalled(t *testing.T) {
	h := enterHome(t)
	defer func(called string) { os.Args[0] = called }(os.Args[0])
	for called, word := range map[string]string{"bin/ctrlplane": "bin/ctrlplane", "/home of me/ctrlplane": "'/home of me/ctrlplane'"} {
		os.Args[0] = called
		for args, says := range map[string]string{
			"down foo":                 `"%s list" lists them`,
			"delete":                   `"%s list" lists them`,
			"logs foo":                 `"%s list" lists them`,
			"status --outptu json":     `see "%s status --help"`,
			"learn nosuch":             `"%s learn --list" lists them`,
			"snapshot diff":            `"%s snapshot list" lists them`,
			"--name foo clients pause": `"%s --name foo clients" lists them`,
			"nope":                     `see "%s --help"`,
		} {
			h.requireFailure(t, strings.Fields(args), 2, strings.ReplaceAll(says, "%s", word))
		}
		if r := h.run(t, "list"); r.stdout != `no control planes: "`+word+` up" starts one`+"\n" {
			t.Errorf("list: %q", r.stdout)
		}
		const client = `unknown client "ctrlplane (x)": did you mean "ctrlplane (kubernetes-admin)"?`
		if got := asCalled(client); got != client {
			t.Errorf("of clients: %s", got)
		}
	}
}
