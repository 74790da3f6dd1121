package apiserver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
)

// changeCounter counts changes of certificates.
type changeCounter int

func (c *changeCounter) Enqueue() { *c++ }

// writeCertificate writes a certificate for a host, which is its own authority, and returns it.
func writeCertificate(t *testing.T, certFile, keyFile, host string) []byte {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert
}

// TestReplacedCertificates checks that files which are replaced are read, and that nothing remains at the end. A watch of the files
// would keep the bubble of synctest from going on, as it waits for the system.
func TestReplacedCertificates(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	before := writeCertificate(t, certFile, keyFile, "before")
	logged := captureLog(t)
	synctest.Test(t, func(t *testing.T) {
		fromFiles, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving", certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		bundle, err := dynamiccertificates.NewDynamicCAContentFromFile("ca", certFile)
		if err != nil {
			t.Fatal(err)
		}
		ofHost, err := dynamiccertificates.NewDynamicSNIContentFromFiles("host", certFile, keyFile, "example.com")
		if err != nil {
			t.Fatal(err)
		}
		hosts := []dynamiccertificates.SNICertKeyContentProvider{ofHost}
		pollHostCertificates(hosts)
		cert, ca := pollCertificate(fromFiles), pollCA(dynamiccertificates.NewUnionCAContentProvider(bundle))
		var certChanges, caChanges changeCounter
		cert.AddListener(&certChanges)
		ca.AddListener(&caChanges)
		ctx, cancel := context.WithCancel(t.Context())
		for _, files := range []any{cert, hosts[0], ca} {
			go files.(dynamiccertificates.ControllerRunner).Run(ctx, 1)
		}
		requireContent := func(want []byte, changes changeCounter) {
			t.Helper()
			synctest.Wait()
			if got, _ := cert.CurrentCertKeyContent(); !bytes.Equal(got, want) {
				t.Errorf("the serving certificate is\n%s, want\n%s", got, want)
			}
			if got, _ := hosts[0].CurrentCertKeyContent(); !bytes.Equal(got, want) || !slices.Equal(hosts[0].SNINames(), []string{"example.com"}) {
				t.Errorf("the certificate of %q is\n%s, want\n%s", hosts[0].SNINames(), got, want)
			}
			if got := ca.CurrentCABundleContent(); !bytes.Equal(bytes.TrimSpace(got), bytes.TrimSpace(want)) {
				t.Errorf("the authorities are\n%s, want\n%s", got, want)
			}
			if certChanges != changes || caChanges != changes {
				t.Errorf("changes: %d of the serving certificate, %d of the authorities, want %d", certChanges, caChanges, changes)
			}
		}
		requireContent(before, 0)
		after := writeCertificate(t, certFile, keyFile, "after")
		time.Sleep(certificateCheckInterval)
		requireContent(after, 1)
		for _, name := range []string{"serving", "host", "ca"} {
			if want := `"Polling the files of certificates" name="` + name; !strings.Contains(logged.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, logged)
			}
		}
		if strings.Contains(logged.String(), "Starting controller") {
			t.Errorf("upstream's controllers run:\n%s", logged)
		}
		cancel()
	})
}

// captureLog returns what klog writes from now on.
func captureLog(t *testing.T) *bytes.Buffer {
	logged := new(bytes.Buffer)
	klog.LogToStderr(false)
	klog.SetOutput(logged)
	t.Cleanup(func() {
		klog.SetOutput(os.Stderr)
		klog.LogToStderr(true)
	})
	return logged
}

func TestCertificatesWithoutFiles(t *testing.T) {
	cert, key, err := certutil.GenerateSelfSignedCertKey("memory", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	inMemory, err := dynamiccertificates.NewStaticCertKeyContent("memory", cert, key)
	if err != nil {
		t.Fatal(err)
	}
	if got := pollCertificate(inMemory); got != inMemory {
		t.Errorf("got %T", got)
	}
	if got := pollCA(nil); got != nil {
		t.Errorf("got %T", got)
	}
}
