package metricsapi

import (
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/informers"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// groupPriority is that of metrics-server: after all groups of upstream.
const groupPriority = 100

// Install adds the API group to server. Call it before PrepareRun. The usage is
// computed from the informers of shared, which the caller starts.
func Install(server *genericapiserver.GenericAPIServer, shared informers.SharedInformerFactory) error {
	pods, nodes := shared.Core().V1().Pods(), shared.Core().V1().Nodes()
	podsSynced, nodesSynced := pods.Informer().HasSynced, nodes.Informer().HasSynced
	s := &usageSource{
		pods:   pods.Lister(),
		nodes:  nodes.Lister(),
		synced: func() bool { return podsSynced() && nodesSynced() },
		now:    time.Now,
	}
	group, err := s.apiGroup()
	if err != nil {
		return err
	}
	if err := server.InstallAPIGroup(group); err != nil {
		return err
	}
	if m := server.AggregatedDiscoveryGroupManager; m != nil {
		m.SetGroupVersionPriority(metav1.GroupVersion(v1beta1.SchemeGroupVersion), groupPriority, groupPriority)
	}
	return nil
}

func (s *usageSource) apiGroup() (*genericapiserver.APIGroupInfo, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(metrics.GroupName, scheme, metav1.ParameterCodec, serializer.NewCodecFactory(scheme))
	group.VersionedResourcesStorageMap[v1beta1.SchemeGroupVersion.Version] = map[string]rest.Storage{
		"pods":  podStorage{s},
		"nodes": nodeStorage{s},
	}
	return &group, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metrics.AddToScheme, v1beta1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme, scheme.SetVersionPriority(v1beta1.SchemeGroupVersion)
}

// SetDefinitionNames makes OpenAPI name the kinds of the group's definitions. Upstream's
// server, which config is for, has the definitions but not the kinds; kubectl explain
// needs both.
func SetDefinitionNames(config *genericapiserver.Config) error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	name := openapi.NewDefinitionNamer(scheme).GetDefinitionName
	if c := config.OpenAPIConfig; c != nil {
		c.GetDefinitionName = firstKnown(c.GetDefinitionName, name)
	}
	if c := config.OpenAPIV3Config; c != nil {
		c.GetDefinitionName = firstKnown(c.GetDefinitionName, name)
	}
	return nil
}

// firstKnown calls first, and second for names that first does not know.
func firstKnown[E ~map[string]any](first, second func(string) (string, E)) func(string) (string, E) {
	return func(name string) (string, E) {
		if known, extensions := first(name); extensions != nil {
			return known, extensions
		}
		return second(name)
	}
}

// APIService returns the registration of the group. It names no Service because this
// process serves the group.
func APIService() *apiregistrationv1.APIService {
	gv := v1beta1.SchemeGroupVersion
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: gv.Version + "." + gv.Group},
		Spec: apiregistrationv1.APIServiceSpec{
			Group:                gv.Group,
			Version:              gv.Version,
			GroupPriorityMinimum: groupPriority,
			VersionPriority:      groupPriority,
		},
	}
}

// ClusterRole lets the roles view, edit and admin read metrics, as in the manifests of
// metrics-server.
func ClusterRole() *rbacv1.ClusterRole {
	const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "system:aggregated-metrics-reader",
			Labels: map[string]string{aggregateTo + "view": "true", aggregateTo + "edit": "true", aggregateTo + "admin": "true"},
		},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{metrics.GroupName},
			Resources: []string{"pods", "nodes"},
			Verbs:     []string{"get", "list", "watch"},
		}},
	}
}
