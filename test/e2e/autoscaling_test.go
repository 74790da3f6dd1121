package e2e_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// fakeMetricsAPI is an aggregated API server of metrics.k8s.io that reports the same
// CPU usage for each Pod.
type fakeMetricsAPI struct {
	milliCPU atomic.Int64
	lastUser atomic.Pointer[string] // the last user that read metrics
}

func (m *fakeMetricsAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var reply any
	namespace, isPods := strings.CutSuffix(strings.TrimPrefix(req.URL.Path, "/apis/metrics.k8s.io/v1beta1/namespaces/"), "/pods")
	switch {
	case req.URL.Path == "/apis/metrics.k8s.io/v1beta1":
		reply = metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: "metrics.k8s.io/v1beta1",
			APIResources: []metav1.APIResource{{Name: "pods", Kind: "PodMetrics", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}}},
		}
	case isPods:
		m.lastUser.Store(new(req.Header.Get("X-Remote-User")))
		l, err := m.listMetrics(req.Context(), namespace, req.URL.Query().Get("labelSelector"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		reply = l
	default:
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply) // fails only if the client has disconnected
}

func (m *fakeMetricsAPI) listMetrics(ctx context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error) {
	running, err := pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	l := &metricsv1beta1.PodMetricsList{TypeMeta: metav1.TypeMeta{Kind: "PodMetricsList", APIVersion: "metrics.k8s.io/v1beta1"}}
	for _, p := range running.Items {
		l.Items = append(l.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: p.Labels},
			Timestamp:  metav1.Now(),
			Containers: []metricsv1beta1.ContainerMetrics{{
				Name: "main", Usage: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(m.milliCPU.Load(), resource.DecimalSI)},
			}},
		})
	}
	return l, nil
}

// registerAPI registers the server as an aggregated API. It accepts the user that the
// front proxy, authenticated by its certificate, names in a header.
func (m *fakeMetricsAPI) registerAPI(t *testing.T, ns string) {
	t.Helper()
	trust := getObject(t, controlPlane.client.CoreV1().ConfigMaps(metav1.NamespaceSystem), "extension-apiserver-authentication")
	proxies := x509.NewCertPool()
	if !proxies.AppendCertsFromPEM([]byte(trust.Data["requestheader-client-ca-file"])) {
		t.Fatalf("no CA of the front proxy in %v", trust.Data)
	}
	srv, ca := serveTLS(t, proxies, m, "metrics."+ns+".svc")
	address, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(address.Port(), 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	createObject(t, controlPlane.client.CoreV1().Services(ns), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	})
	client, err := aggregator.NewForConfig(controlPlane.config)
	if err != nil {
		t.Fatal(err)
	}
	services := client.ApiregistrationV1().APIServices()
	const name = "v1beta1.metrics.k8s.io"
	ours := getObject(t, services, name).Spec
	serve := func(spec apiregistrationv1.APIServiceSpec) {
		updateObject(t, services, name, func(s *apiregistrationv1.APIService) { s.Spec = spec })
	}
	serve(apiregistrationv1.APIServiceSpec{
		Group: "metrics.k8s.io", Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100, CABundle: ca,
		Service: &apiregistrationv1.ServiceReference{Namespace: ns, Name: "metrics", Port: new(int32(port))},
	})
	t.Cleanup(func() { restoreAPIService(t, services, name, ours) })
	await(t, "available metrics API", getByName(services, name), func(s *apiregistrationv1.APIService) bool {
		return slices.ContainsFunc(s.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool {
			return c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue
		})
	})
}

// restoreAPIService restores the original backend of the metrics API, and returns when
// discovery has its resources again. The test's own context has ended by then.
func restoreAPIService(t *testing.T, c apiregistrationclient.APIServiceInterface, name string, spec apiregistrationv1.APIServiceSpec) {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		s, err := c.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		s.Spec = spec
		_, err = c.Update(ctx, s, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		t.Error(err)
		return
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		var lists []*metav1.APIResourceList
		_, lists, last = controlPlane.client.Discovery().ServerGroupsAndResources()
		return last == nil && slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool {
			// The fake server has Pods only.
			return l.GroupVersion == "metrics.k8s.io/v1beta1" && slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool { return r.Name == "nodes" })
		}), nil
	})
	if err != nil {
		t.Errorf("discovery after the metrics API was restored: %v: %v", err, last)
	}
}

// It does not run in parallel: while the metrics API changes its backend, discovery fails
// for a group, and the namespaces of other tests cannot be deleted.
func TestHorizontalPodAutoscaler(t *testing.T) {
	ns := createNamespace(t)
	m := &fakeMetricsAPI{}
	m.milliCPU.Store(100)
	m.registerAPI(t, ns)
	markPodsReadyExcept(t, ns, "")
	d := newDeployment("registry.invalid/app:1")
	d.Spec.Replicas = new(int32(2))
	d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
	createObject(t, deployments(ns), d)
	awaitRollout(t, ns, 2)

	autoscalers := controlPlane.client.AutoscalingV2().HorizontalPodAutoscalers(ns)
	createObject(t, autoscalers, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    new(int32(1)),
			MaxReplicas:    5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))},
			}}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))},
			},
		},
	})
	awaitDesired := func(what string, utilization, replicas int32) *autoscalingv2.HorizontalPodAutoscaler {
		t.Helper()
		return await(t, what, getByName(autoscalers, "web"), func(h *autoscalingv2.HorizontalPodAutoscaler) bool {
			s := h.Status
			return len(s.CurrentMetrics) == 1 && s.CurrentMetrics[0].Resource != nil &&
				*s.CurrentMetrics[0].Resource.Current.AverageUtilization == utilization && s.DesiredReplicas == replicas && s.CurrentReplicas == replicas
		})
	}
	awaitDesired("rest at the target", 50, 2)
	if who := m.lastUser.Load(); who == nil || *who != "system:serviceaccount:kube-system:horizontal-pod-autoscaler" {
		t.Errorf("metrics were asked for by %s", toYAML(who))
	}
	m.milliCPU.Store(200)
	h := awaitDesired("as many as are allowed at twice the target", 100, 5)
	conditions := map[autoscalingv2.HorizontalPodAutoscalerConditionType]string{}
	for _, c := range h.Status.Conditions {
		conditions[c.Type] = string(c.Status) + " " + c.Reason
	}
	if conditions[autoscalingv2.ScalingActive] != "True ValidMetricFound" || conditions[autoscalingv2.ScalingLimited] != "True TooManyReplicas" {
		t.Errorf("conditions %v", conditions)
	}
	awaitRollout(t, ns, 5)
	awaitEvent(t, ns, "HorizontalPodAutoscaler", "web", "SuccessfulRescale")

	m.milliCPU.Store(20)
	awaitDesired("scaling down at a fifth of the target", 10, 1)
	awaitRollout(t, ns, 1)
}
