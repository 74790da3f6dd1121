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

// GroupPath is below what the group is served.
const GroupPath = "/apis/" + metrics.GroupName

// groupPriority is metrics-server's: behind all of upstream's own groups.
const groupPriority = 100

// Install serves the group from server, before its PrepareRun. What is measured
// comes from shared, which somebody else starts.
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

// SetDefinitionNames lets OpenAPI say which kinds the group's definitions are: upstream's
// server, for which config is, has the definitions but not the kinds. kubectl
// explain needs both.
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

// firstKnown asks second about what first knows nothing of.
func firstKnown[E ~map[string]any](first, second func(string) (string, E)) func(string) (string, E) {
	return func(name string) (string, E) {
		if known, extensions := first(name); extensions != nil {
			return known, extensions
		}
		return second(name)
	}
}

// APIService is what lists the group among those that are served. It names no
// service: this process serves it.
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

// ClusterRole lets view, edit and admin read metrics, as metrics-server's
// manifests do.
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
