package kubelet

import (
	"bytes"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	defaults "k8s.io/kubernetes/pkg/kubelet/apis/config/v1beta1"
)

func (a *kubeletAPI) servePods(w http.ResponseWriter, r *http.Request) error {
	pods, err := a.listNodePods(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}, Items: pods})
}

// serveSummary lists what is running, without usage.
func (a *kubeletAPI) serveSummary(w http.ResponseWriter, r *http.Request) error {
	name := nodesFromContext(r.Context())[0]
	node, err := a.client.CoreV1().Nodes().Get(r.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pods, err := a.listNodePods(r.Context())
	if err != nil {
		return err
	}
	summary := stats.Summary{
		Node: stats.NodeStats{NodeName: name, StartTime: node.CreationTimestamp},
		Pods: []stats.PodStats{},
	}
	for i := range pods {
		pod := &pods[i]
		if pod.Status.StartTime == nil {
			continue
		}
		entry := stats.PodStats{
			PodRef:     stats.PodReference{Name: pod.Name, Namespace: pod.Namespace, UID: string(pod.UID)},
			StartTime:  *pod.Status.StartTime,
			Containers: []stats.ContainerStats{},
		}
		for _, c := range containerStatuses(pod) {
			if c.State.Running != nil {
				entry.Containers = append(entry.Containers, stats.ContainerStats{Name: c.Name, StartTime: c.State.Running.StartedAt})
			}
		}
		summary.Pods = append(summary.Pods, entry)
	}
	return writeJSON(w, summary)
}

func (a *kubeletAPI) serveResourceMetrics(w http.ResponseWriter, r *http.Request) error {
	pods, err := a.listNodePods(r.Context())
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds\n# TYPE container_start_time_seconds gauge\n")
	for i := range pods {
		for _, c := range containerStatuses(&pods[i]) {
			if c.State.Running != nil {
				fmt.Fprintf(&b, "container_start_time_seconds{container=%q,namespace=%q,pod=%q} %d\n", c.Name, pods[i].Namespace, pods[i].Name, c.State.Running.StartedAt.Unix())
			}
		}
	}
	b.WriteString("# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise\n# TYPE resource_scrape_error gauge\nresource_scrape_error 0\n")
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := w.Write(b.Bytes()); err != nil {
		return abortedError{err}
	}
	return nil
}

// serveConfigz serves the default configuration of a kubelet.
func serveConfigz(w http.ResponseWriter, _ *http.Request) error {
	config := &kubeletconfig.KubeletConfiguration{}
	defaults.SetDefaults_KubeletConfiguration(config)
	return writeJSON(w, map[string]any{"kubeletconfig": config})
}
