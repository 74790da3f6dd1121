package main

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
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
	for path, want := range map[string]bool{"/ctrlplane/v1/snapshot": true, "/webhook": false} {
		_, err := client.Get("https://" + l.Addr().String() + path)
		hinted := hintAtSuspended(err)
		if err == nil || strings.Contains(hinted.Error(), suspended) != want || !errors.Is(hinted, err) {
			t.Errorf("%s: %v", path, hinted)
		}
		if again := hintAtSuspended(hinted); want && again.Error() != hinted.Error() {
			t.Errorf("twice: %v", again)
		}
	}
}
