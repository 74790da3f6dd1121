package container

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/kubernetes/pkg/probe"
	httpprobe "k8s.io/kubernetes/pkg/probe/http"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// asksTable reports whether the HTTP table of a Pod answers a probe.
func asksTable(of *corev1.Pod, p *corev1.Probe) bool {
	if p.HTTPGet == nil && p.TCPSocket == nil && p.GRPC == nil {
		return false
	}
	text, ok := of.Annotations[annotations.HTTP]
	if !ok {
		return false
	}
	_, err := podhttp.Parse(text)
	return err == nil
}

// findPort returns why a kubelet cannot find the port that a request to a container names; nil if it can, or if no port is named.
func findPort(c *corev1.Container, get *corev1.HTTPGetAction, connect *corev1.TCPSocketAction) error {
	var port intstr.IntOrString
	switch {
	case get != nil:
		port = get.Port
	case connect != nil:
		port = connect.Port
	}
	if port.Type != intstr.String {
		return nil // the API server has checked the number
	}
	_, err := probe.ResolveContainerPort(port, c)
	return err
}

// isAnswered reports whether the result of a probe that is not a command is known: the HTTP table of the Pod answers it,
// or the container does not have the port.
func isAnswered(of *corev1.Pod, c *corev1.Container, p *corev1.Probe) bool {
	return asksTable(of, p) || p.Exec == nil && findPort(c, p.HTTPGet, p.TCPSocket) != nil
}

// DecidesWithoutCommand reports whether probes or the postStart hook of a container decide about it, though it has no command.
func DecidesWithoutCommand(of *corev1.Pod, c *corev1.Container) bool {
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil && isAnswered(of, c, p) {
			return true
		}
	}
	return failsPostStart(c)
}

// AssumesProbe reports whether a probe of a container succeeds without being made, because
// nothing is simulated that could answer it.
func AssumesProbe(of *corev1.Pod, c *corev1.Container) bool {
	for _, p := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		if p != nil && p.Exec == nil && !isAnswered(of, c, p) {
			return true
		}
	}
	return false
}

// probeTable makes a probe that the HTTP table of the Pod answers. An error is that of a probe which cannot be made.
func (s *session) probeTable(of *corev1.Pod, c *corev1.Container, p *corev1.Probe) (success bool, output string, err error) {
	server, _ := s.http.Pod(of.UID) // without an annotation it listens on no port
	switch {
	case p.GRPC != nil:
		success, output = probeGRPC(server.Table, of.Status.PodIP, int(p.GRPC.Port), time.Duration(max(p.TimeoutSeconds, 1))*time.Second)
		return success, output, nil
	case p.TCPSocket != nil:
		port, err := probe.ResolveContainerPort(p.TCPSocket.Port, c)
		if err != nil {
			return false, "", err
		}
		if !server.Table.Listens(port) {
			return false, fmt.Sprintf("dial tcp %s:%d: %v", of.Status.PodIP, port, podhttp.ErrRefused), nil
		}
		return true, "", nil
	}
	request, err := httpprobe.NewRequestForHTTPGetAction(p.HTTPGet, c, of.Status.PodIP, "probe")
	if err != nil {
		return false, "", err
	}
	result, output, err := httpprobe.DoHTTPProbe(request, tableClient{server.Table})
	return result != probe.Failure, output, err
}

// grpcHealthPath is the path of a health check on HTTP/2.
const grpcHealthPath = grpc_health_v1.Health_Check_FullMethodName

// probeGRPC makes a gRPC probe. A port of the table serves, unless its line for the health
// check has another status than 200. A kubelet tries to connect for all of the timeout: the
// error is the same at once.
func probeGRPC(table podhttp.Table, ip string, port int, timeout time.Duration) (success bool, output string) {
	if !table.Listens(port) {
		return false, fmt.Sprintf("timeout: failed to connect service %q within %v: %v", net.JoinHostPort(ip, strconv.Itoa(port)), timeout, context.DeadlineExceeded)
	}
	if status, known := table.Status(port, grpcHealthPath); known && status != http.StatusOK {
		return false, fmt.Sprintf("service unhealthy (responded with %q)", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	}
	return true, ""
}

// tableClient answers requests from a table.
type tableClient struct{ table podhttp.Table }

// Do implements httpprobe.GetHTTPInterface.
func (t tableClient) Do(r *http.Request) (*http.Response, error) {
	port, err := strconv.Atoi(r.URL.Port())
	if err != nil {
		return nil, err
	}
	if !t.table.Listens(port) {
		return nil, fmt.Errorf("Get %q: %w", r.URL, podhttp.ErrRefused)
	}
	status, body := t.table.Get(port, r.URL.Path)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}
