package kubelet

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

func newTLSClient(c net.Conn) net.Conn { return tls.Client(c, &tls.Config{InsecureSkipVerify: true}) }

func TestRefusedStreams(t *testing.T) {
	_, client := startKubelets(t, newPod("p", runningState(), corev1.ContainerState{}), newPod("ended", terminatedState("simulated://1/c/0"), corev1.ContainerState{}))
	for _, test := range []struct {
		path string
		code int
		want string
	}{
		{"attach/default/p/other/c?input=1", 500, "container c not found in pod p_default"},
		{"attach/default/ended/c?input=1", 500, "container c not found in pod ended_default"},
		{"exec/default/p/c?command=ls", 400, "you must specify at least 1 of stdin, stdout, stderr"},
		{"exec/default/ended/c?command=ls&output=1", 500, `container not found ("c")`},
		{"run/default/ended/c?cmd=ls", 500, `container not found ("c")`},
		{"portForward/default/nope", 404, `pod "nope" does not exist`},
		{"exec/default/p/nope", 500, `container not found ("nope")`},
		{"logs/", 404, "the kubelet of simulated node node-1 does not serve /logs/"},
	} {
		t.Run(test.path, func(t *testing.T) {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				req, err := http.NewRequest(method, "https://172.16.0.1:10250/"+test.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", "SPDY/3.1")
				code, body := doRequest(t, client, req)
				if code != test.code || body != test.want {
					t.Errorf("%s: got %d %q, want %d %q", method, code, body, test.code, test.want)
				}
			}
		})
	}
}

// filterByNode makes a fake client list by node, as the API server does.
func filterByNode(pods ...*corev1.Pod) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		list := &corev1.PodList{}
		for _, p := range pods {
			node, _ := action.(clienttesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch("spec.nodeName")
			if p.Spec.NodeName == node {
				list.Items = append(list.Items, *p)
			}
		}
		return true, list, nil
	}
}

func TestNodeEndpoints(t *testing.T) {
	none := corev1.ContainerState{}
	here, there, unborn := newPod("here", runningState(), none), newPod("there", runningState(), none), newPod("unborn", none, none)
	there.Spec.NodeName = "node-2"
	here.Status.StartTime, there.Status.StartTime = &startTime, &startTime
	fake, client := startKubelets(t)
	fake.PrependReactor("list", "pods", filterByNode(here, there, unborn))

	fetch := func(path string, into any) {
		t.Helper()
		code, body := getURL(t, client, "https://172.16.0.1:10250/"+path)
		if code != http.StatusOK {
			t.Fatalf("%s: got %d %s", path, code, body)
		}
		if err := json.Unmarshal([]byte(body), into); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	var pods corev1.PodList
	if fetch("pods", &pods); pods.Kind != "PodList" || len(pods.Items) != 2 || pods.Items[0].Name != "here" || pods.Items[1].Name != "unborn" {
		t.Errorf("pods: got %+v", pods)
	}
	var summary stats.Summary
	fetch("stats/summary", &summary)
	if summary.Node.NodeName != "node-1" || len(summary.Pods) != 1 || summary.Pods[0].PodRef.Name != "here" || len(summary.Pods[0].Containers) != 1 {
		t.Errorf("summary: got %+v", summary)
	}
	var config struct{ Kubeletconfig struct{ MaxPods int } }
	if fetch("configz", &config); config.Kubeletconfig.MaxPods != 110 {
		t.Errorf("configz: got %+v", config)
	}
	const metrics = `# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds
# TYPE container_start_time_seconds gauge
container_start_time_seconds{container="c",namespace="default",pod="here"} 1767323045
# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise
# TYPE resource_scrape_error gauge
resource_scrape_error 0
`
	if code, body := getURL(t, client, "https://172.16.0.1:10250/metrics/resource"); code != http.StatusOK || body != metrics {
		t.Errorf("metrics: got %d %s", code, body)
	}
}
