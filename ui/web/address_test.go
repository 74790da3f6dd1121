package web

import (
	"crypto/sha256"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestAddressRules(t *testing.T) {
	for _, tt := range []struct {
		listen  Listen
		want    string
		problem string // part of the error
	}{
		{Listen{}, "127.0.0.1:0", ""},
		{Listen{Address: "127.0.0.1:8080"}, "127.0.0.1:8080", ""},
		{Listen{Address: "[::1]:0"}, "[::1]:0", ""},
		{Listen{Address: "localhost:0"}, "localhost:0", ""},
		{Listen{Public: true}, "0.0.0.0:0", ""},
		{Listen{Address: "192.0.2.1:443", Public: true}, "192.0.2.1:443", ""},
		{Listen{Address: ":8443", Public: true}, ":8443", ""},
		{Listen{Address: "0.0.0.0:8080"}, "", "--web-public"},
		{Listen{Address: ":8080"}, "", "--web-public"},
		{Listen{Address: "192.0.2.1:8080"}, "", "--web-public"},
		{Listen{Address: "[::]:8080"}, "", "--web-public"},
		{Listen{Address: "example.com:8080"}, "", "not an IP address"},
		{Listen{Address: "8080"}, "", "use HOST:PORT"},
		{Listen{CertFile: "x", Public: true}, "", "need each other"},
		{Listen{CertFile: "x", KeyFile: "y"}, "", "--web-public"},
	} {
		got, err := tt.listen.resolve()
		if tt.problem == "" && (err != nil || got != tt.want) {
			t.Errorf("%+v: %q, %v, want %q", tt.listen, got, err, tt.want)
		}
		if tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%+v: error %v, want one with %q", tt.listen, err, tt.problem)
		}
	}
}

// A server that listens on all addresses is reached by one of them.
func TestLinkAddress(t *testing.T) {
	own := "127.0.0.1:9000"
	if all := ownAddresses(); len(all) > 0 {
		own = net.JoinHostPort(all[0].String(), "9000")
	}
	for ip, want := range map[string]string{"127.0.0.1": "127.0.0.1:9000", "192.0.2.1": "192.0.2.1:9000", "2001:db8::1": "[2001:db8::1]:9000", "0.0.0.0": own, "::": own} {
		if got := LinkAddress(&net.TCPAddr{IP: net.ParseIP(ip), Port: 9000}); got != want {
			t.Errorf("%s: got %s, want %s", ip, got, want)
		}
	}
}

func TestPublicServerUsesTLS(t *testing.T) {
	s := startServer(t, Options{Listen: Listen{Public: true}})
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("link: %s", s.url)
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tls.Dial("tcp", u.Host, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	cert := conn.ConnectionState().PeerCertificates[0]
	conn.Close()
	if err := cert.VerifyHostname(u.Hostname()); err != nil {
		t.Errorf("the certificate is not for the host of the link: %v", err)
	}
	if got := s.Fingerprint(); got != fingerprint(cert) || len(got) != 3*sha256.Size-1 {
		t.Errorf("fingerprint %q, that of the certificate is %q", got, fingerprint(cert))
	}
	plain, err := http.Get("http://" + u.Host + "/")
	if err != nil {
		t.Fatal(err)
	}
	plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: status %d", plain.StatusCode)
	}
	v := newVisitor(t, s)
	v.open(s.OnceLink())
	v.expect(http.StatusOK, "GET", "/api/session", "", nil)
	_, port, _ := net.SplitHostPort(u.Host)
	v.expect(http.StatusMisdirectedRequest, "GET", "/", "", func(req *http.Request) { req.Host = "evil.example:" + port })
}
