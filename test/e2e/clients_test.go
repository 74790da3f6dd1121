package e2e_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// nobody is a client configuration without a credential.
func nobody() *rest.Config { return rest.AnonymousClientConfig(plane.config) }

// bearer is a client configuration with a token.
func bearer(token string) *rest.Config {
	cfg := nobody()
	cfg.BearerToken = token
	return cfg
}

// impersonating is the administrator acting as somebody else.
func impersonating(user string, groups ...string) *rest.Config {
	cfg := rest.CopyConfig(plane.config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	return cfg
}

func clientFor(t *testing.T, cfg *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// whoami is who the API server takes the client for.
func whoami(ctx context.Context, client *kubernetes.Clientset) (authenticationv1.UserInfo, error) {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// asking is whoami for await.
func asking(client *kubernetes.Clientset) func(context.Context) (authenticationv1.UserInfo, error) {
	return func(ctx context.Context) (authenticationv1.UserInfo, error) { return whoami(ctx, client) }
}

// answer is what a plain GET gets.
type answer struct {
	Code   int
	Header http.Header
	Body   string
}

// fetch gets a path that no typed client knows.
func fetch(t *testing.T, cfg *rest.Config, path string, accept ...string) answer {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cfg.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range accept {
		req.Header.Add("Accept", a)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// grant lets a user or group use a ClusterRole in all namespaces.
func grant(t *testing.T, role string, subject rbacv1.Subject) {
	t.Helper()
	name := unique("grant")
	createShared(t, plane.client.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}, name)
}
