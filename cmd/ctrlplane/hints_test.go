package main

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
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
