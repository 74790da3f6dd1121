package pki

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestRefusesInconsistentFiles(t *testing.T) {
	const createAll = "copy the original back, or remove the folder DIR to create all certificates and keys again"
	// from copies files of another control plane.
	from := func(names ...string) func(*testing.T, *Config) {
		return func(t *testing.T, cfg *Config) {
			other, _ := newPKI(t)
			for _, name := range names {
				writeTestFile(t, *cfg, name, mustReadFile(t, filepath.Join(other.Dir, name)))
			}
		}
	}
	content := func(name, content string) func(*testing.T, *Config) {
		return func(t *testing.T, cfg *Config) { writeTestFile(t, *cfg, name, []byte(content)) }
	}
	without := func(names ...string) func(*testing.T, *Config) {
		return func(t *testing.T, cfg *Config) { removeFiles(t, *cfg, names...) }
	}
	tests := map[string]struct {
		spoil func(*testing.T, *Config)
		want  string // DIR stands for the folder
	}{
		"CA certificate garbage":      {content("ca.crt", "x"), "pki: DIR/ca.crt cannot be used: it has no certificate in PEM format: " + createAll},
		"CA certificate garbage PEM":  {content("ca.crt", "-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n"), "pki: DIR/ca.crt cannot be used: x509: malformed certificate: " + createAll},
		"CA key garbage":              {content("ca.key", "x"), "pki: DIR/ca.key cannot be used: it has no valid, unencrypted private key in PEM format: " + createAll},
		"front proxy CA garbage":      {content("front-proxy-ca.crt", "x"), "pki: DIR/front-proxy-ca.crt cannot be used: it has no certificate in PEM format: " + createAll},
		"leaf certificate garbage":    {content("apiserver.crt", "x"), "pki: DIR/apiserver.crt cannot be used: it has no certificate in PEM format: copy the original back, or remove apiserver.crt and apiserver.key to create them again"},
		"leaf key garbage":            {content("apiserver.key", "x"), "pki: DIR/apiserver.key cannot be used: it has no valid, unencrypted private key in PEM format: copy the original back, or remove apiserver.crt and apiserver.key to create them again"},
		"service account key garbage": {content("sa.key", "x"), "pki: DIR/sa.key cannot be used: it has no valid, unencrypted private key in PEM format: " + createAll},
		"service account pub garbage": {content("sa.pub", "x"), "pki: DIR/sa.pub cannot be used: it has no public key in PEM format: copy the original back, or remove it to derive it from sa.key"},

		"CA key of another":              {from("ca.key"), "pki: DIR/ca.crt does not match ca.key: " + createAll},
		"leaf key of another":            {from("admin.key"), "pki: DIR/admin.crt does not match admin.key: copy the original back, or remove admin.crt and admin.key to create them again"},
		"leaf of another CA":             {from("admin.crt", "admin.key"), "pki: DIR/admin.crt is not signed by ca.crt: copy the original back, or remove admin.crt and admin.key to create them again"},
		"front proxy client of another":  {from("front-proxy-client.crt", "front-proxy-client.key"), "pki: DIR/front-proxy-client.crt is not signed by front-proxy-ca.crt: copy the original back, or remove front-proxy-client.crt and front-proxy-client.key to create them again"},
		"another CA":                     {from("ca.crt", "ca.key"), "pki: DIR/apiserver.crt is not signed by ca.crt: copy the original back, or remove apiserver.crt and apiserver.key to create them again"},
		"service account pub of another": {from("sa.pub"), "pki: DIR/sa.pub does not match sa.key: copy the original back, or remove it to derive it from sa.key"},

		"CA key lost":                          {without("ca.key"), "pki: DIR/ca.key is missing, but ca.crt exists: " + createAll},
		"service account key lost":             {without("sa.key"), "pki: DIR/sa.key is missing, but ca.crt exists: " + createAll},
		"service account key and CA cert lost": {without("sa.key", "sa.pub", "ca.crt"), "pki: DIR/sa.key is missing, but ca.key exists: " + createAll},

		"CA that is a leaf": {
			func(t *testing.T, cfg *Config) {
				writeTestFile(t, *cfg, "ca.crt", mustReadFile(t, filepath.Join(cfg.Dir, "admin.crt")))
				writeTestFile(t, *cfg, "ca.key", mustReadFile(t, filepath.Join(cfg.Dir, "admin.key")))
			},
			"pki: DIR/ca.crt is not a CA certificate: " + createAll,
		},
		"CA expired": {
			func(_ *testing.T, cfg *Config) { cfg.now = fixedClock(startTime().Add(caValidity + time.Second)) },
			"pki: DIR/ca.crt expired at 2036-02-27T12:00:00Z, and clients trust no other CA: remove the folder DIR to create all certificates and keys again, or choose another --name",
		},
		"folder instead of a file": {
			func(t *testing.T, cfg *Config) {
				removeFiles(t, *cfg, "admin.crt")
				if err := os.Mkdir(filepath.Join(cfg.Dir, "admin.crt"), 0o700); err != nil {
					t.Fatal(err)
				}
			},
			"pki: read DIR/admin.crt: is a directory",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the errors of the system differ")
			}
			cfg, _ := newPKI(t)
			test.spoil(t, &cfg)
			before := testutil.ReadFiles(t, cfg.Dir)
			_, err := Ensure(cfg)
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "DIR", cfg.Dir), testutil.ErrorLine(t, err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, testutil.ReadFiles(t, cfg.Dir)); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestRefusesInvalidConfig(t *testing.T) {
	parent := t.TempDir()
	testutil.WriteFile(t, filepath.Join(parent, "file"), "")
	tests := map[string]struct {
		cfg  Config
		want string
	}{
		"not an IP":       {Config{Dir: "new", IPs: []net.IP{{1, 2}}}, "pki: [1 2] is not an IP address"},
		"not a host name": {Config{Dir: "new", DNSNames: []string{"ü"}}, `pki: ` + filepath.Join(parent, "new", "apiserver.crt") + `: x509: "ü" cannot be encoded as an IA5String`},
		"file":            {Config{Dir: "file"}, "pki: " + filepath.Join(parent, "file") + " is a file, but the certificates need a folder of this name: move the file"},
		"no parent":       {Config{Dir: "no/parent"}, "pki: mkdir " + filepath.Join(parent, "no/parent") + ": no such file or directory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.cfg.Dir = filepath.Join(parent, test.cfg.Dir)
			_, err := Ensure(test.cfg)
			if got := testutil.ErrorLine(t, err); got != test.want && runtime.GOOS != "windows" {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			entries, err := os.ReadDir(parent)
			if err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
		})
	}
}
