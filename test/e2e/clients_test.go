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

// anonymousConfig returns a client configuration without credentials.
func anonymousConfig() *rest.Config { return rest.AnonymousClientConfig(controlPlane.config) }

// tokenConfig returns a client configuration with a bearer token.
func tokenConfig(token string) *rest.Config {
	cfg := anonymousConfig()
	cfg.BearerToken = token
	return cfg
}

// impersonatingConfig returns the administrator's configuration, impersonating a user.
func impersonatingConfig(user string, groups ...string) *rest.Config {
	cfg := rest.CopyConfig(controlPlane.config)
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

// whoAmI returns the user that the API server sees.
func whoAmI(ctx context.Context, client *kubernetes.Clientset) (authenticationv1.UserInfo, error) {
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// askWhoAmI returns whoAmI for await.
func askWhoAmI(client *kubernetes.Clientset) func(context.Context) (authenticationv1.UserInfo, error) {
	return func(ctx context.Context) (authenticationv1.UserInfo, error) { return whoAmI(ctx, client) }
}

// httpResponse is the response to a GET.
type httpResponse struct {
	Code   int
	Header http.Header
	Body   string
}

// httpGet reads a path for which there is no typed client.
func httpGet(t *testing.T, cfg *rest.Config, path string, accept ...string) httpResponse {
	t.Helper()
	resp, err := getPath(cfg, path, accept...)(t.Context())
	if err != nil {
		t.Fatalf("GET %s: %v", path, err)
	}
	return resp
}

// getPath returns httpGet for await.
func getPath(cfg *rest.Config, path string, accept ...string) func(context.Context) (httpResponse, error) {
	return func(ctx context.Context) (httpResponse, error) { return tryGet(ctx, cfg, path, accept) }
}

func tryGet(ctx context.Context, cfg *rest.Config, path string, accept []string) (httpResponse, error) {
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return httpResponse{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+path, nil)
	if err != nil {
		return httpResponse{}, err
	}
	for _, a := range accept {
		req.Header.Add("Accept", a)
	}
	resp, err := client.Do(req)
	if err != nil {
		return httpResponse{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return httpResponse{resp.StatusCode, resp.Header, string(body)}, err
}

// bindClusterRole grants a ClusterRole to a user or group.
func bindClusterRole(t *testing.T, role string, subject rbacv1.Subject) {
	t.Helper()
	name := uniqueName("grant")
	createShared(t, controlPlane.client.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{subject},
	}, name)
}
