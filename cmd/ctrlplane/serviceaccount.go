package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/kubeconfig"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

const (
	serviceAccountTokenLifetime = 365 * 24 * time.Hour
	defaultAccountWait          = 5 * time.Second
	defaultAccountPoll          = 50 * time.Millisecond
)

// serviceAccountFlag is the flag --service-account: the account as which a command uses the
// control plane, instead of as the administrator.
type serviceAccountFlag struct{ account types.NamespacedName }

const serviceAccountHelp = "of this ServiceAccount, `NAMESPACE/NAME`, with its permissions, instead of the administrator's"

// Set implements [pflag.Value]. It also accepts the user name of a ServiceAccount.
func (f *serviceAccountFlag) Set(text string) error {
	namespace, name, found := strings.Cut(text, "/")
	if ns, n, err := serviceaccount.SplitUsername(text); err == nil {
		namespace, name, found = ns, n, true
	}
	if !found {
		return flagHint("not a ServiceAccount: use NAMESPACE/NAME")
	}
	if problems := validation.ValidateNamespaceName(namespace, false); len(problems) > 0 {
		return flagHint(fmt.Sprintf("%q cannot be a namespace: %s", namespace, problems[0]))
	}
	if problems := validation.ValidateServiceAccountName(name, false); len(problems) > 0 {
		return flagHint(fmt.Sprintf("%q cannot be a ServiceAccount: %s", name, problems[0]))
	}
	f.account = types.NamespacedName{Namespace: namespace, Name: name}
	return nil
}

func (f *serviceAccountFlag) String() string {
	if !f.given() {
		return ""
	}
	return f.account.String()
}

// Type implements [pflag.Value].
func (f *serviceAccountFlag) Type() string { return "string" }

func (f *serviceAccountFlag) given() bool { return f.account.Name != "" }

// kubeconfigPath is the kubeconfig in a data folder that a command gets. A namespace has no
// dots, so each account has a file of its own.
func (f *serviceAccountFlag) kubeconfigPath(dir string) string {
	if !f.given() {
		return filepath.Join(dir, ctrlplane.KubeconfigFile)
	}
	return filepath.Join(dir, ctrlplane.KubeconfigFile+"."+f.account.Namespace+"."+f.account.Name)
}

// writeKubeconfig writes the kubeconfig of the ServiceAccount into the data folder, if one is
// given. cfg is the administrator's.
func (f *serviceAccountFlag) writeKubeconfig(ctx context.Context, dir string, cfg *rest.Config) error {
	if !f.given() {
		return nil
	}
	config, err := f.kubeconfig(ctx, dir, cfg)
	if err != nil {
		return err
	}
	return kubeconfig.Write(f.kubeconfigPath(dir), config)
}

// kubeconfig returns the kubeconfig of the data folder with a token of the ServiceAccount in
// place of the administrator's certificate, and its namespace.
func (f *serviceAccountFlag) kubeconfig(ctx context.Context, dir string, cfg *rest.Config) (*clientcmdapi.Config, error) {
	config, err := clientcmd.LoadFromFile(filepath.Join(dir, ctrlplane.KubeconfigFile))
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.AuthInfos[current.AuthInfo] == nil {
		return nil, errors.New("kubeconfig: it has no current user: start the control plane again")
	}
	token, err := f.token(ctx, cfg)
	if err != nil {
		return nil, err
	}
	user := config.AuthInfos[current.AuthInfo]
	user.ClientCertificateData, user.ClientKeyData = nil, nil
	user.Token = token
	current.Namespace = f.account.Namespace
	return config, nil
}

// token requests a token. It waits a moment for the ServiceAccount "default", which a controller
// creates soon after the namespace.
func (f *serviceAccountFlag) token(ctx context.Context, cfg *rest.Config) (string, error) {
	client, err := corev1client.NewForConfig(cfg)
	if err != nil {
		return "", err
	}
	deadline := time.Now().Add(defaultAccountWait)
	for {
		answer, err := client.ServiceAccounts(f.account.Namespace).CreateToken(ctx, f.account.Name, newTokenRequest(), metav1.CreateOptions{})
		switch {
		case err == nil:
			return answer.Status.Token, nil
		case !apierrors.IsNotFound(err):
			return "", fmt.Errorf("--service-account %s: no token: %w", f.account, err)
		case f.account.Name != "default" || time.Now().After(deadline):
			return "", fmt.Errorf("--service-account %s: that ServiceAccount does not exist: create it, or apply its manifest with -f", f.account)
		}
		if !sleep.For(ctx, defaultAccountPoll) {
			return "", context.Cause(ctx)
		}
	}
}

func newTokenRequest() *authenticationv1.TokenRequest {
	seconds := int64(serviceAccountTokenLifetime / time.Second)
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
}
