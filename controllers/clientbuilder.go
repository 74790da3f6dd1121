package controllers

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/observe"
)

// clientBuilder builds the clients of one controller. Each acts as the service
// account of that name in kube-system, as with upstream's
// --use-service-account-credentials, but without a token.
type clientBuilder struct {
	connect  func(who user.Info) *rest.Config
	program  string            // of upstream, whose controller it is
	recorder *observe.Recorder // of their calls; may be nil
	gate     *intervene.Gate
}

var _ clientbuilder.ControllerClientBuilder = clientBuilder{}

func (c clientBuilder) Config(name string) (*rest.Config, error) {
	account := serviceaccount.UserInfo(metav1.NamespaceSystem, name, "")
	who := &user.DefaultInfo{Name: account.GetName(), Groups: append(account.GetGroups(), user.AllAuthenticated)}
	return recording.ObserveCalls(intervene.InterceptCalls(useragent.Set(c.connect(who), c.program, name), c.gate), c.recorder), nil
}

func (c clientBuilder) Client(name string) (kubernetes.Interface, error) {
	cfg, err := c.Config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(cfg)
}

func (c clientBuilder) DiscoveryClient(name string) (discovery.DiscoveryInterface, error) {
	cfg, err := c.Config(name)
	if err != nil {
		return nil, err
	}
	return discovery.NewDiscoveryClientForConfig(cfg)
}

// The OrDie methods panic where upstream's exit: a panic of a constructor is a
// failure of that controller only.

func (c clientBuilder) ConfigOrDie(name string) *rest.Config { return must(c.Config(name)) }

func (c clientBuilder) ClientOrDie(name string) kubernetes.Interface { return must(c.Client(name)) }

func (c clientBuilder) DiscoveryClientOrDie(name string) discovery.DiscoveryInterface {
	return must(c.DiscoveryClient(name))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Errorf("controllers: client: %w", err))
	}
	return v
}

// managerUser returns the user of the shared informers, which is that of
// upstream's controller manager. The privileged group allows it to list before
// the RBAC policy is loaded.
func managerUser() user.Info {
	return &user.DefaultInfo{
		Name:   user.KubeControllerManager,
		Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
	}
}

// programOf returns the program that has a controller in a cluster.
func (s *Supervisor) programOf(controller string) string {
	if i := slices.IndexFunc(s.cfg.Extra, func(e ExtraController) bool { return e.Name == controller }); i >= 0 {
		return s.cfg.Extra[i].Program
	}
	return useragent.ControllerManager
}
