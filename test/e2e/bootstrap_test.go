package e2e_test

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// bootstrapToken is the credential with which a new node joins.
type bootstrapToken struct{ id, secret string }

func (b bootstrapToken) String() string     { return b.id + "." + b.secret }
func (b bootstrapToken) secretName() string { return "bootstrap-token-" + b.id }

// newBootstrapToken creates a token with the given usages.
func newBootstrapToken(t *testing.T, data map[string]string) bootstrapToken {
	t.Helper()
	text := strings.ToLower(rand.Text())
	b := bootstrapToken{text[:6], text[6:22]}
	data["token-id"], data["token-secret"] = b.id, b.secret
	createShared(t, controlPlane.client.CoreV1().Secrets(metav1.NamespaceSystem), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: b.secretName()}, Type: corev1.SecretTypeBootstrapToken, StringData: data,
	}, b.secretName())
	return b
}

// A kubelet authenticates with a bootstrap token, requests a certificate, which is
// approved automatically, and is then restricted to its own node.
func TestKubeletBootstrap(t *testing.T) {
	t.Parallel()
	group := "system:bootstrappers:" + uniqueName("e2e")
	token := newBootstrapToken(t, map[string]string{"usage-bootstrap-authentication": "true", "auth-extra-groups": group})
	bootstrapper := clientFor(t, tokenConfig(token.String()))
	who := await(t, "user of the bootstrap token", askWhoAmI(bootstrapper), anyState)
	if who.Username != "system:bootstrap:"+token.id || !slices.Contains(who.Groups, group) {
		t.Errorf("the bootstrap token is of %+v", who)
	}
	bootstrappers := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}
	bindClusterRole(t, "system:node-bootstrapper", bootstrappers)
	bindClusterRole(t, "system:certificates.k8s.io:certificatesigningrequests:nodeclient", bootstrappers)

	name := uniqueName("node")
	csr := newSigningRequest(t, certificatesv1.KubeAPIServerClientKubeletSignerName,
		pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}, certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature)
	await(t, "right to ask for a certificate", func(ctx context.Context) (*certificatesv1.CertificateSigningRequest, error) {
		return bootstrapper.CertificatesV1().CertificateSigningRequests().Create(ctx, csr.CertificateSigningRequest, metav1.CreateOptions{})
	}, anyState)
	_, kubelet := awaitCertificate(t, csr)
	signed := getObject(t, controlPlane.client.CertificatesV1().CertificateSigningRequests(), csr.Name)
	if !slices.Equal(requestConditions(signed), []string{"Approved AutoApproved"}) || signed.Spec.Username != who.Username {
		t.Errorf("the request of %s has conditions %v", signed.Spec.Username, requestConditions(signed))
	}
	checkKubelet(t, kubelet, name)
}

// checkKubelet checks the rights of a node's own client.
func checkKubelet(t *testing.T, kubelet *kubernetes.Clientset, name string) {
	t.Helper()
	ns := createNamespace(t)
	createObject(t, kubelet.CoreV1().Nodes(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	t.Cleanup(func() {
		if err := controlPlane.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("delete node: %v", err)
		}
	})
	other := startFakeNode(t, nil)
	if _, err := kubelet.CoreV1().Nodes().Patch(t.Context(), other.name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet changes another node: got %v, want 403", err)
	}
	_, err := kubelet.CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"node-restriction.kubernetes.io/a":"b"}}}`), metav1.PatchOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a kubelet gives itself a restricted label: got %v, want 403", err)
	}

	// It may read a Secret while a Pod on its node uses it.
	secrets := controlPlane.client.CoreV1().Secrets(ns)
	for _, s := range []string{"used", "unused"} {
		createObject(t, secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s}})
	}
	p := newPod("web", nil)
	p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = name, new(int64(0))
	p.Spec.Volumes = []corev1.Volume{{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "used"}}}}
	createObject(t, pods(ns), p)
	await(t, "secret of a pod on the node", getByName(kubelet.CoreV1().Secrets(ns), "used"), anyState)
	if _, err := kubelet.CoreV1().Secrets(ns).Get(t.Context(), "unused", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secret of no pod on the node: got %v, want 403", err)
	}
}

// The bootstrap signer signs cluster-info with every token that has that usage.
func TestBootstrapSigner(t *testing.T) {
	t.Parallel()
	const content = "apiVersion: v1\nkind: Config\n"
	maps := controlPlane.client.CoreV1().ConfigMaps(metav1.NamespacePublic)
	createShared(t, maps, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-info"}, Data: map[string]string{"kubeconfig": content}}, "cluster-info")
	signing := newBootstrapToken(t, map[string]string{"usage-bootstrap-signing": "true"})
	silent := newBootstrapToken(t, map[string]string{"usage-bootstrap-authentication": "true"})
	const prefix = "jws-kubeconfig-"
	m := await(t, "signature", getByName(maps, "cluster-info"), func(m *corev1.ConfigMap) bool { return m.Data[prefix+signing.id] != "" })
	if m.Data[prefix+silent.id] != "" {
		t.Error("a token that is not for signing has signed")
	}
	header, signature, ok := strings.Cut(m.Data[prefix+signing.id], "..")
	mac := hmac.New(sha256.New, []byte(signing.secret))
	mac.Write([]byte(header + "." + base64.RawURLEncoding.EncodeToString([]byte(content))))
	if want := base64.RawURLEncoding.EncodeToString(mac.Sum(nil)); !ok || signature != want {
		t.Errorf("signature %q, want %q", signature, want)
	}
	deleteObject(t, controlPlane.client.CoreV1().Secrets(metav1.NamespaceSystem), signing.secretName())
	await(t, "end of the signature", getByName(maps, "cluster-info"), func(m *corev1.ConfigMap) bool { return m.Data[prefix+signing.id] == "" })
}

// The token cleaner deletes expired tokens.
func TestTokenCleaner(t *testing.T) {
	t.Parallel()
	secrets := controlPlane.client.CoreV1().Secrets(metav1.NamespaceSystem)
	in := func(d time.Duration) string { return time.Now().UTC().Add(d).Format(time.RFC3339) }
	expiring := func(d time.Duration) map[string]string {
		return map[string]string{"usage-bootstrap-authentication": "true", "expiration": in(d)}
	}
	lasting, brief, past := newBootstrapToken(t, expiring(time.Hour)), newBootstrapToken(t, expiring(time.Hour)), newBootstrapToken(t, expiring(-time.Hour))
	awaitGone(t, "expired token", getByName(secrets, past.secretName()))
	client := clientFor(t, tokenConfig(brief.String()))
	await(t, "user of the brief token", askWhoAmI(client), anyState)
	// Only now, because the machine may be busy: a token that is brief from the beginning may
	// have expired before it was used.
	patch := fmt.Appendf(nil, `{"stringData":{"expiration":%q}}`, in(time.Second))
	if _, err := secrets.Patch(t.Context(), brief.secretName(), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, "token that has expired since", getByName(secrets, brief.secretName()))
	awaitUnauthorized(t, client)
	getObject(t, secrets, lasting.secretName())
}
