package podhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
)

var errNetwork = errors.New("dialed over the network")

func newDirectory(t *testing.T) *Directory {
	t.Helper()
	d := &Directory{}
	t.Cleanup(d.Close)
	d.SetSimulated(func(addr netip.Addr) bool { return netip.MustParsePrefix("10.1.0.0/24").Contains(addr) })
	d.Set(Pod{Name: "web", UID: "u", Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.1")}, Running: true}, ":80/ 200 hello\n:80/admin 403")
	return d
}

func newClient(d *Directory) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext: d.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, errNetwork }),
	}}
}

func get(t *testing.T, c *http.Client, url string) (int, string, error) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func TestDialer(t *testing.T) {
	d := newDirectory(t)
	c := newClient(d)
	for range 2 {
		if status, body, err := get(t, c, "http://10.1.0.1/"); status != 200 || body != "hello\n" {
			t.Errorf("got %d %q %v", status, body, err)
		}
	}
	if status, body, err := get(t, c, "http://10.1.0.1/admin?x=1"); status != 403 || body != "" {
		t.Errorf("got %d %q %v", status, body, err)
	}
	for url, want := range map[string]error{
		"http://10.1.0.1:81/": ErrRefused, "http://10.1.0.2/": ErrRefused, "http://10.2.0.1/": errNetwork, "http://example.com/": errNetwork,
	} {
		if _, _, err := get(t, c, url); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", url, err, want)
		}
	}
}

// An address that only simulated Pods can have is not looked for in the network.
func TestDialerRefusesReservedAddresses(t *testing.T) {
	d := newDirectory(t)
	d.SetSimulated(func(netip.Addr) bool { return false })
	d.SetReserved(netip.MustParsePrefix("10.1.0.0/24").Contains)
	c := newClient(d)
	for url, want := range map[string]error{"http://10.1.0.9/": ErrRefused, "http://10.2.0.1/": errNetwork} {
		if _, _, err := get(t, c, url); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", url, err, want)
		}
	}
}

func TestDirectoryFollowsPods(t *testing.T) {
	d := newDirectory(t)
	c := newClient(d)
	pod, _ := d.Pod("u")
	d.Set(pod, "/ 503 down")
	if status, body, err := get(t, c, "http://10.1.0.1:8080/"); status != 503 || body != "down\n" {
		t.Errorf("a table that has changed: got %d %q %v", status, body, err)
	}
	pod.Running = false
	d.Set(pod, "/ 503 down")
	if _, _, err := get(t, c, "http://10.1.0.1:8080/"); !errors.Is(err, ErrRefused) {
		t.Errorf("a Pod that does not run: got %v", err)
	}
	d.Set(pod, "wrong")
	if d.Has("u") {
		t.Error("an invalid table has kept the one before")
	}
}

// TestCloseEndsConnections opens a connection that its client never closes.
func TestCloseEndsConnections(t *testing.T) {
	d := newDirectory(t)
	conn := d.Connect("u", 80)
	d.Close()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want the end", err)
	}
	if d.Has("u") {
		t.Error("a closed directory has a Pod")
	}
}
