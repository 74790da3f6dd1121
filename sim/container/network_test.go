package container

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// service returns a Service and its endpoints.
func service(name, address string, endpoints ...discoveryv1.Endpoint) []runtime.Object {
	return []runtime.Object{
		&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec: corev1.ServiceSpec{
				ClusterIP: address, ClusterIPs: []string{address}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
			},
		},
		&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
			Ports:      []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}}, Endpoints: endpoints,
		},
	}
}

func (f *fixture) setTable(uid types.UID, address, table string) {
	f.HTTP.Set(podhttp.Pod{Name: string(uid), UID: uid, Addresses: []netip.Addr{netip.MustParseAddr(address)}, Running: true}, table)
}

// TestPodsAnswerOneAnother asks Pods and Services from a shell in a Pod.
func TestPodsAnswerOneAnother(t *testing.T) {
	ready := discoveryv1.Endpoint{Addresses: []string{"10.1.0.2"}, Hostname: ptr.To("web-0")}
	notReady := discoveryv1.Endpoint{Addresses: []string{"10.1.0.9"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}}
	var objects []runtime.Object
	objects = append(objects, service("web", "10.0.0.1", notReady, ready)...)
	objects = append(objects, service("headless", "None", ready)...)
	objects = append(objects, service("empty", "10.0.0.2", notReady)...)
	exposed := objects[0].(*corev1.Service)
	exposed.Spec.ExternalIPs, exposed.Spec.Ports[0].NodePort = []string{"10.2.0.7"}, 30080
	exposed.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}}
	master := service("kubernetes", "10.0.0.3", ready)[0].(*corev1.Service)
	master.Namespace = "default"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.16.0.1"}}}}
	f := newFixture(t, append(objects, master, node)...)
	f.HTTP.SetSimulated(netip.MustParsePrefix("10.1.0.0/24").Contains)
	f.setTable("web", "10.1.0.2", ":8080/ 200 hello\n:8080/down 503 sorry")
	f.setTable("u", "10.1.0.1", ":9000/ 200 self")
	pod := newPod("sh", "-c", "sleep 1000")
	pod.Status.PodIP = "10.1.0.1"
	f.start(pod)
	for script, want := range map[string]string{
		"wget -qO- http://web":                                        "hello\n",
		"wget -qO- web.ns:80/":                                        "hello\n",
		"curl -s web.ns.svc.cluster.local/":                           "hello\n",
		"curl -s http://10.0.0.1/":                                    "hello\n",
		"curl -s http://10.1.0.2:8080/":                               "hello\n",
		"curl -s http://203.0.113.2/":                                 "hello\n",
		"curl -s http://10.2.0.7/":                                    "hello\n",
		"curl -s http://172.16.0.1:30080/":                            "hello\n",
		"wget -qO- http://10.1.0.9:30080 || echo $?":                  "wget: can't connect to remote host (10.1.0.9): connection refused: the pod is simulated and answers only what its annotation ctrlplane.local/http says\n1\n",
		"wget -qO- https://kubernetes.default.svc/api || echo $?":     "wget: " + errAPIServer.Error() + "\n1\n",
		"wget -qO- http://kubernetes.default.svc:443 || echo $?":      "wget: " + errAPIServer.Error() + "\n1\n",
		"wget -qO- https://web || echo $?":                            "wget: https is not simulated: use http\n1\n",
		"curl -s http://headless:8080/":                               "hello\n",
		"curl -s http://web-0.headless:8080/":                         "hello\n",
		"curl -s http://web-0.headless.ns.svc:8080/":                  "hello\n",
		"curl -s http://localhost:9000; curl -s http://10.1.0.1:9000": "self\nself\n",
		"curl -s -o /dev/null -w '%{http_code}' http://web/down":      "503",
		"wget -qO- web/down || echo $?":                               "wget: server returned error: HTTP/1.1 503\n1\n",
		"wget -qO- http://none || echo $?":                            "wget: bad address 'none'\n1\n",
		"curl -s http://none || echo $?":                              "6\n",
		"curl http://web:81 || echo $?":                               "curl: (7) can't connect to remote host (10.0.0.1): service ns/web has no port 81\n7\n",
		"wget -qO- http://empty || echo $?":                           "wget: service ns/empty has no ready endpoints\n1\n",
		"wget -qO- http://10.1.0.2 || echo $?":                        "wget: can't connect to remote host (10.1.0.2): " + podhttp.ErrRefused.Error() + "\n1\n",
		"wget -qO- http://192.0.2.1 || echo $?":                       "wget: can't connect to remote host (192.0.2.1): this container is simulated and has no network\n1\n",
		"curl https://web || echo $?":                                 "curl: (7) https is not simulated: use http\n7\n",
		"nc -z web 80 && nc -zv -w 1 10.1.0.2 8080":                   "10.1.0.2 (10.1.0.2:8080) open\n",
		"nc -z web 81 || echo $?":                                     "nc: can't connect to remote host (10.0.0.1): service ns/web has no port 81\n1\n",
		"ping -c 2 -i 0.01 web-0.headless": "PING web-0.headless (10.1.0.2): 56 data bytes\n64 bytes from 10.1.0.2: seq=0 ttl=64 time=0.000 ms\n" +
			"64 bytes from 10.1.0.2: seq=1 ttl=64 time=0.000 ms\n\n--- web-0.headless ping statistics ---\n2 packets transmitted, 2 packets received, 0% packet loss\n",
		"ping -q -w 0.01 -i 1000 localhost | tail -1; ping -c x localhost 2>&1; ping -w x localhost 2>&1 || echo $?": "1 packets transmitted, 1 packets received, 0% packet loss\n" +
			"ping: invalid number 'x'\nping: invalid number 'x'\n1\n",
		"ping -qc1 localhost | grep loss; ping -qc1 10.1.0.1 | grep loss": "1 packets transmitted, 1 packets received, 0% packet loss\n1 packets transmitted, 1 packets received, 0% packet loss\n",
		"ping -c 1 -W 0 web | tail -1; ping -c 1 none || echo $?":         "1 packets transmitted, 0 packets received, 100% packet loss\nping: bad address 'none'\n1\n",
		"nslookup web-0.headless | tail -3":                               "Name:\tweb-0.headless\nAddress: 10.1.0.2\n\n",
	} {
		if got := f.exec(pod, script); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

// servedPod returns a Pod without a command whose probes ask its table.
func servedPod(table string) *corev1.Pod {
	pod := newPod()
	pod.Annotations = map[string]string{annotations.HTTP: table}
	pod.Status.PodIP = "10.1.0.1"
	c := &pod.Spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			PeriodSeconds: 1, FailureThreshold: 1,
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("web")}},
		}
	}
	c.ReadinessProbe, c.LivenessProbe = probe("/ready"), probe("/live")
	return pod
}

func TestProbesAskTheTable(t *testing.T) {
	f := newFixture(t)
	const table = "/live 200\n/ready 503\n"
	pod := servedPod(table)
	c := &pod.Spec.Containers[0]
	if !DecidesWithoutCommand(pod, c) {
		t.Fatal("the Pod has no such probe")
	}
	f.setTable("u", "10.1.0.1", table)
	if state := f.Run(Spec{Pod: pod, Container: c, Serves: true}); state.Ready || !state.Started || state.Command || !state.Decides() {
		t.Fatalf("at the start: %+v", state)
	}
	f.awaitEvent(t, "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503")
	f.setTable("u", "10.1.0.1", "/live 200\n/ready 200\n")
	f.awaitState(pod, func(s State) bool { return s.Ready })
	f.setTable("u", "10.1.0.1", ":9090/live 200\n")
	f.awaitEvent(t, "Killing: Container c failed liveness probe, will be restarted")
	if state := f.await(pod, Ended); state.ExitCode != 143 || state.Ready {
		t.Errorf("at the end: %+v", state)
	}
}

// TestGRPCProbesAskTheTable has a port that listens, and lines that say that it is not
// serving.
func TestGRPCProbesAskTheTable(t *testing.T) {
	const unhealthy = `service unhealthy (responded with "NOT_SERVING")`
	const refused = `timeout: failed to connect service "10.1.0.1:9090" within 2s: context deadline exceeded`
	for table, want := range map[string]string{
		":9090":  "",
		"/ 200":  "",
		"/ 503":  "",
		":8080":  refused,
		"/* 503": unhealthy,
		"/* 503\n:9090/grpc.health.v1.Health/* 200": "",
		":9090\n/grpc.health.v1.Health/Check 503":   unhealthy,
	} {
		parsed, err := podhttp.Parse(table)
		if err != nil {
			t.Fatal(err)
		}
		success, output := probeGRPC(parsed, "10.1.0.1", 9090, 2*time.Second)
		if success != (want == "") || output != want {
			t.Errorf("%q: got %v, %q; want %q", table, success, output, want)
		}
	}
	of := servedPod("/ 200")
	if probe := (&corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 9090}}}); !asksTable(of, probe) {
		t.Error("the probe is not made")
	}
}

// TestServicesShareAnAddress distinguishes them by their ports.
func TestServicesShareAnAddress(t *testing.T) {
	ready := discoveryv1.Endpoint{Addresses: []string{"10.1.0.2"}}
	var objects []runtime.Object
	for i, name := range []string{"a", "b", "c"} {
		of := service(name, fmt.Sprintf("10.0.0.%d", i+1), ready)
		shared := of[0].(*corev1.Service)
		shared.Spec.Ports[0].Port = int32(80 + i)
		shared.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.2"}}
		if name == "c" {
			shared.Spec.Ports[0].Port, shared.Spec.Ports[0].Protocol = 80, corev1.ProtocolUDP
		}
		of[1].(*discoveryv1.EndpointSlice).Ports[0].Port = ptr.To(int32(8080 + i))
		objects = append(objects, of...)
	}
	f := newFixture(t, objects...)
	f.HTTP.SetSimulated(netip.MustParsePrefix("10.1.0.0/24").Contains)
	f.setTable("web", "10.1.0.2", ":8080/ 200 a\n:8081/ 200 b\n:8082/ 200 c")
	pod := newPod("sh", "-c", "sleep 1000")
	f.start(pod)
	for range 20 { // they are in no order
		if got := f.exec(pod, "wget -qO- http://203.0.113.2; wget -qO- http://203.0.113.2:81"); got != "a\nb\n" {
			t.Fatalf("got %q", got)
		}
	}
	if got := f.exec(pod, "nc -z 203.0.113.2 90 2>&1 || :"); !strings.HasPrefix(got, "nc: can't connect to remote host (203.0.113.2): service ns/") {
		t.Errorf("got %q", got)
	}
}

// TestServiceHasTheAddressOfANode asks node ports, and a Pod in the network of the node, at an address that is an external
// one of a Service, too.
func TestServiceHasTheAddressOfANode(t *testing.T) {
	ready := discoveryv1.Endpoint{Addresses: []string{"10.1.0.2"}}
	objects := []runtime.Object{&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "172.16.0.1"}}},
	}}
	for i, name := range []string{"a", "b"} {
		of := service(name, fmt.Sprintf("10.0.0.%d", i+1), ready)
		of[0].(*corev1.Service).Spec.Ports[0].NodePort = int32(30080 + i)
		of[1].(*discoveryv1.EndpointSlice).Ports[0].Port = ptr.To(int32(8080 + i))
		objects = append(objects, of...)
	}
	objects[1].(*corev1.Service).Spec.ExternalIPs = []string{"172.16.0.1"}
	f := newFixture(t, objects...)
	f.HTTP.SetSimulated(netip.MustParsePrefix("10.1.0.0/24").Contains)
	f.setTable("web", "10.1.0.2", ":8080/ 200 a\n:8081/ 200 b")
	f.setTable("host", "172.16.0.1", ":9100/ 200 host")
	pod := newPod("sh", "-c", "sleep 1000")
	f.start(pod)
	for address, want := range map[string]string{
		"172.16.0.1":       "a\n",
		"172.16.0.1:30080": "a\n",
		"172.16.0.1:30081": "b\n",
		"172.16.0.1:9100":  "host\n",
		"172.16.0.1:81":    "wget: can't connect to remote host (172.16.0.1): service ns/a has no port 81\n",
		"10.0.0.1:30081":   "wget: can't connect to remote host (10.0.0.1): service ns/a has no port 30081\n",
	} {
		if got := f.exec(pod, "wget -qO- http://"+address+" 2>&1 || :"); got != want {
			t.Errorf("%s: got %q, want %q", address, got, want)
		}
	}
}
