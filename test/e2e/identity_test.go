package e2e_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func TestServiceAccountDefault(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t) // waits for the service account
	accounts := controlPlane.client.CoreV1().ServiceAccounts(ns)
	first := getObject(t, accounts, "default")
	deleteObject(t, accounts, "default")
	await(t, "new default service account", getByName(accounts, "default"), func(sa *corev1.ServiceAccount) bool { return sa.UID != first.UID })

	// Pods use it, with a projected token for each.
	p := createObject(t, pods(ns), newPod("web", webLabels))
	var sources []corev1.VolumeProjection
	for _, v := range p.Spec.Volumes {
		if v.Projected != nil {
			sources = v.Projected.Sources
		}
	}
	if p.Spec.ServiceAccountName != "default" || len(sources) != 3 || sources[0].ServiceAccountToken == nil || sources[1].ConfigMap.Name != "kube-root-ca.crt" {
		t.Errorf("pod of account %q with projected volume %s", p.Spec.ServiceAccountName, toYAML(sources))
	}
}

// createAccountToken creates a service account and a token for it.
func createAccountToken(t *testing.T, ns, name string, spec authenticationv1.TokenRequestSpec) string {
	t.Helper()
	accounts := controlPlane.client.CoreV1().ServiceAccounts(ns)
	createObject(t, accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}})
	req, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("request a token: %v", err)
	}
	if left := time.Until(req.Status.ExpirationTimestamp.Time); left < 9*time.Minute || left > 61*time.Minute {
		t.Errorf("the token expires in %v", left)
	}
	return req.Status.Token
}

func TestTokenRequest(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	client := clientFor(t, tokenConfig(createAccountToken(t, ns, "bot", authenticationv1.TokenRequestSpec{})))
	who, err := whoAmI(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	sa := getObject(t, controlPlane.client.CoreV1().ServiceAccounts(ns), "bot")
	if who.Username != "system:serviceaccount:"+ns+":bot" || who.UID != string(sa.UID) ||
		!slices.Contains(who.Groups, "system:serviceaccounts:"+ns) || !slices.Contains(who.Groups, "system:authenticated") {
		t.Errorf("the token is of %+v", who)
	}

	// It has no rights until they are granted.
	if _, err := client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list pods without rights: got %v, want 403", err)
	}
	createObject(t, controlPlane.client.RbacV1().RoleBindings(ns), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bot"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "bot", Namespace: ns}},
	})
	await(t, "right to list pods", listBySelector(client.CoreV1().Pods(ns), ""), anyState)
	if _, err := client.CoreV1().Secrets(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list secrets as viewer: got %v, want 403", err)
	}
	if _, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list pods elsewhere: got %v, want 403", err)
	}

	// The token becomes invalid when the account is deleted.
	deleteObject(t, controlPlane.client.CoreV1().ServiceAccounts(ns), "bot")
	awaitUnauthorized(t, client)
}

// awaitUnauthorized waits until a token is rejected. The API server caches a
// successful authentication for 10 s.
func awaitUnauthorized(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	await(t, "end of the token", func(ctx context.Context) (error, error) {
		_, err := whoAmI(ctx, client)
		return err, nil
	}, apierrors.IsUnauthorized)
}

// A token can be bound to a Pod, and be for another audience than the API server.
func TestTokenBoundAndAudience(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	p := createObject(t, pods(ns), newPod("web", webLabels))
	bound := &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID}
	accounts := controlPlane.client.CoreV1().ServiceAccounts(ns)
	token := func(spec authenticationv1.TokenRequestSpec) string {
		t.Helper()
		req, err := accounts.CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return req.Status.Token
	}
	client := clientFor(t, tokenConfig(token(authenticationv1.TokenRequestSpec{BoundObjectRef: bound})))
	who, err := whoAmI(t.Context(), client)
	if err != nil || !slices.Equal(who.Extra["authentication.kubernetes.io/pod-name"], []string{"web"}) {
		t.Errorf("token of a pod: %v, %v", who.Extra, err)
	}
	deleteObject(t, pods(ns), p.Name)
	awaitUnauthorized(t, client)

	elsewhere := token(authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}})
	if _, err := whoAmI(t.Context(), clientFor(t, tokenConfig(elsewhere))); !apierrors.IsUnauthorized(err) {
		t.Errorf("token for another audience: got %v, want 401", err)
	}
	review := createObject(t, controlPlane.client.AuthenticationV1().TokenReviews(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: elsewhere, Audiences: []string{"vault"}},
	})
	if s := review.Status; !s.Authenticated || s.User.Username != "system:serviceaccount:"+ns+":default" || !slices.Equal(s.Audiences, []string{"vault"}) {
		t.Errorf("review of the token by its audience: %+v", s)
	}
}

// Legacy token Secrets are filled with a token that does not expire, and are deleted
// with their account.
func TestTokenSecret(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	createObject(t, controlPlane.client.CoreV1().ServiceAccounts(ns), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "bot"}})
	secrets := controlPlane.client.CoreV1().Secrets(ns)
	createObject(t, secrets, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bot", Annotations: map[string]string{corev1.ServiceAccountNameKey: "bot"}},
		Type:       corev1.SecretTypeServiceAccountToken,
	})
	s := await(t, "filled secret", getByName(secrets, "bot"), func(s *corev1.Secret) bool { return len(s.Data[corev1.ServiceAccountTokenKey]) > 0 })
	if string(s.Data[corev1.ServiceAccountNamespaceKey]) != ns || string(s.Data[corev1.ServiceAccountRootCAKey]) != string(controlPlane.config.CAData) {
		t.Errorf("namespace %q and CA %q of the secret", s.Data[corev1.ServiceAccountNamespaceKey], s.Data[corev1.ServiceAccountRootCAKey])
	}
	sa := getObject(t, controlPlane.client.CoreV1().ServiceAccounts(ns), "bot")
	if s.Annotations[corev1.ServiceAccountUIDKey] != string(sa.UID) {
		t.Errorf("the secret is of account %s, want %s", s.Annotations[corev1.ServiceAccountUIDKey], sa.UID)
	}
	client := clientFor(t, tokenConfig(string(s.Data[corev1.ServiceAccountTokenKey])))
	// The API server may know the Secret from before it was filled.
	who := await(t, "use of the token", askWhoAmI(client), anyState)
	if who.Username != "system:serviceaccount:"+ns+":bot" {
		t.Errorf("the token is of %+v", who)
	}
	await(t, "date of the token's last use", getByName(secrets, "bot"), func(s *corev1.Secret) bool {
		return s.Labels["kubernetes.io/legacy-token-last-used"] != ""
	})
	deleteObject(t, controlPlane.client.CoreV1().ServiceAccounts(ns), "bot")
	awaitGone(t, "secret of the account", getByName(secrets, "bot"))
	awaitUnauthorized(t, client)
}

// Every namespace has the CA certificate, and changes to it are reverted.
func TestRootCAPublishing(t *testing.T) {
	t.Parallel()
	ns := createNamespace(t)
	maps := controlPlane.client.CoreV1().ConfigMaps(ns)
	published := func(what string, ok func(*corev1.ConfigMap) bool) {
		t.Helper()
		await(t, what, getByName(maps, "kube-root-ca.crt"), func(m *corev1.ConfigMap) bool {
			return len(m.Data) == 1 && m.Data["ca.crt"] == string(controlPlane.config.CAData) && ok(m)
		})
	}
	published("CA", anyState)
	updateObject(t, maps, "kube-root-ca.crt", func(m *corev1.ConfigMap) { m.Data["ca.crt"] = "forged" })
	published("the CA again", anyState)
	first := getObject(t, maps, "kube-root-ca.crt")
	deleteObject(t, maps, "kube-root-ca.crt")
	published("CA in a new ConfigMap", func(m *corev1.ConfigMap) bool { return m.UID != first.UID })
}

// The API server publishes a trust bundle for its serving certificate.
func TestClusterTrustBundle(t *testing.T) {
	t.Parallel()
	const signer = "kubernetes.io/kube-apiserver-serving"
	await(t, "trust bundle of the API server", func(ctx context.Context) (*certificatesv1.ClusterTrustBundleList, error) {
		return controlPlane.client.CertificatesV1().ClusterTrustBundles().List(ctx, metav1.ListOptions{FieldSelector: "spec.signerName=" + signer})
	}, func(l *certificatesv1.ClusterTrustBundleList) bool {
		return len(l.Items) == 1 && strings.TrimSpace(l.Items[0].Spec.TrustBundle) == strings.TrimSpace(string(controlPlane.config.CAData))
	})
}
