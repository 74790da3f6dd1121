package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// signingRequest is a CertificateSigningRequest with its private key.
type signingRequest struct {
	*certificatesv1.CertificateSigningRequest
	key []byte // PEM
}

func newSigningRequest(t *testing.T, signer string, subject pkix.Name, usages ...certificatesv1.KeyUsage) signingRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signingRequest{
		CertificateSigningRequest: &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: uniqueName("csr")},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request:           pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
				SignerName:        signer,
				Usages:            usages,
				ExpirationSeconds: new(int32(3600)),
			},
		},
		key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}),
	}
}

// approve approves a request as the administrator.
func approve(t *testing.T, name string) {
	t.Helper()
	requests := controlPlane.client.CertificatesV1().CertificateSigningRequests()
	csr := getObject(t, requests, name)
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "E2E", Message: "approved by the test",
	})
	if _, err := requests.UpdateApproval(t.Context(), name, csr, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("approve: %v", err)
	}
}

// awaitCertificate waits until a request is signed, checks the certificate, and
// returns a client that uses it.
func awaitCertificate(t *testing.T, csr signingRequest) (*x509.Certificate, *kubernetes.Clientset) {
	t.Helper()
	signed := await(t, "certificate", getByName(controlPlane.client.CertificatesV1().CertificateSigningRequests(), csr.Name),
		func(csr *certificatesv1.CertificateSigningRequest) bool { return len(csr.Status.Certificate) > 0 })
	block, _ := pem.Decode(signed.Status.Certificate)
	if block == nil {
		t.Fatalf("no PEM: %s", signed.Status.Certificate)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(controlPlane.config.CAData)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the certificate is not the cluster's: %v", err)
	}
	if left := time.Until(cert.NotAfter); left > time.Hour+time.Minute || left < 50*time.Minute {
		t.Errorf("the certificate is good for %v, want an hour", left)
	}
	cfg := anonymousConfig()
	cfg.TLSClientConfig.CertData, cfg.TLSClientConfig.KeyData = signed.Status.Certificate, csr.key
	return cert, clientFor(t, cfg)
}

func requestConditions(csr *certificatesv1.CertificateSigningRequest) []string {
	var list []string
	for _, c := range csr.Status.Conditions {
		list = append(list, string(c.Type)+" "+c.Reason)
	}
	return list
}

func TestCertificateSigning(t *testing.T) {
	t.Parallel()
	requests := controlPlane.client.CertificatesV1().CertificateSigningRequests()
	csr := newSigningRequest(t, certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "jane", Organization: []string{"developers"}}, certificatesv1.UsageClientAuth)
	made := createShared(t, requests, csr.CertificateSigningRequest, csr.Name)
	if made.Spec.Username != "kubernetes-admin" || len(made.Status.Conditions) != 0 || len(made.Status.Certificate) != 0 {
		t.Errorf("a new request is of %q, with conditions %v", made.Spec.Username, requestConditions(made))
	}
	approve(t, csr.Name)
	cert, client := awaitCertificate(t, csr)
	if cert.Subject.CommonName != "jane" || !slices.Equal(cert.Subject.Organization, []string{"developers"}) {
		t.Errorf("the certificate is of %v", cert.Subject)
	}
	who, err := whoAmI(t.Context(), client)
	if err != nil || who.Username != "jane" || !slices.Equal(who.Groups, []string{"developers", "system:authenticated"}) {
		t.Errorf("the API server sees %+v, %v", who, err)
	}
	if _, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list pods as jane: got %v, want 403", err)
	}
}

func TestCertificateRefused(t *testing.T) {
	t.Parallel()
	requests := controlPlane.client.CertificatesV1().CertificateSigningRequests()
	masters := newSigningRequest(t, certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "eve", Organization: []string{"system:masters"}}, certificatesv1.UsageClientAuth)
	_, err := requests.Create(t.Context(), masters.CertificateSigningRequest, metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "system:masters") {
		t.Errorf("request to be a master: got %v, want 403", err)
	}

	// An approved request that the signer does not support fails.
	server := newSigningRequest(t, certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "eve"}, certificatesv1.UsageServerAuth)
	createShared(t, requests, server.CertificateSigningRequest, server.Name)
	approve(t, server.Name)
	failed := await(t, "Failed condition", getByName(requests, server.Name), func(csr *certificatesv1.CertificateSigningRequest) bool {
		return slices.Contains(requestConditions(csr), "Failed SignerValidationFailure")
	})
	if len(failed.Status.Certificate) != 0 {
		t.Error("it has a certificate all the same")
	}

	// Approval needs a right of its own.
	plain := newSigningRequest(t, certificatesv1.KubeAPIServerClientSignerName, pkix.Name{CommonName: "bob"}, certificatesv1.UsageClientAuth)
	made := createShared(t, requests, plain.CertificateSigningRequest, plain.Name)
	made.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	bob := clientFor(t, impersonatingConfig("bob"))
	if _, err := bob.CertificatesV1().CertificateSigningRequests().UpdateApproval(t.Context(), plain.Name, made, metav1.UpdateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("approval without the right: got %v, want 403", err)
	}
}

// The certificate of an unknown CA is rejected, even for what anonymous clients may read.
func TestForeignCertificateIsRejected(t *testing.T) {
	t.Parallel()
	srv, ca := serveTLS(t, nil, nil)
	key, err := x509.MarshalPKCS8PrivateKey(srv.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cfg := anonymousConfig()
	cfg.TLSClientConfig.CertData = ca
	cfg.TLSClientConfig.KeyData = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
	if a := httpGet(t, cfg, "/healthz"); a.Code != http.StatusUnauthorized {
		t.Errorf("got %d %s, want 401", a.Code, a.Body)
	}
}
