package kubelet

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// On standby the containers run in another process: only what the Pod itself says is answered.
func TestStandby(t *testing.T) {
	standby := errors.New("on standby")
	s, certs := newServerOf(t, Config{Standby: func() error { return standby }})
	annotated := newPod("annotated", runningState(), corev1.ContainerState{})
	annotated.Annotations = map[string]string{annotations.Log: "output"}
	_, client := startServer(t, s, certs, newPod("p", runningState(), corev1.ContainerState{}), annotated)
	test := func(path string, wantCode int, want string) {
		t.Helper()
		if code, body := getURL(t, client, "https://172.16.0.1:10250/"+path); code != wantCode || body != want {
			t.Errorf("%s: got %d %q, want %d %q", path, code, body, wantCode, want)
		}
	}
	test("containerLogs/default/p/c", http.StatusInternalServerError, standby.Error())
	for _, path := range []string{
		"exec/default/p/c?command=ls&output=1", "attach/default/p/c?input=1", "run/default/p/c?cmd=ls", "portForward/default/p",
	} {
		test(path, http.StatusServiceUnavailable, standby.Error())
	}
	test("containerLogs/default/annotated/c", http.StatusOK, "output\n")
	test("exec/default/nope/c?command=ls&output=1", http.StatusNotFound, `pod "nope" does not exist`)
	test("healthz", http.StatusOK, "ok")
	standby = nil
	test("containerLogs/default/p/c", http.StatusOK, "The container is simulated: it has no output.\n")
}

// The network leads to other Pods only, while the simulated nodes are not in this process or are suspended.
func TestPodDialerOnStandby(t *testing.T) {
	standby := errors.New("on standby")
	s, _ := newServerOf(t, Config{Standby: func() error { return standby }})
	simulated, remote := markSimulated(newNode("a", "172.16.0.1")), newNode("b", "172.16.0.2")
	simulated.Spec.PodCIDRs, remote.Spec.PodCIDRs = []string{"10.1.0.0/24"}, []string{"10.1.1.0/24"}
	s.Dialer(newLister(t, simulated, remote, markSimulated(newNode("c"))), refuseNetwork)
	dial := s.PodDialer(refuseNetwork)
	test := func(state string, refused error) {
		t.Helper()
		for address, want := range map[string]error{
			"10.1.0.7:80": refused, "172.16.0.1:80": refused, "100.64.0.7:80": refused,
			"10.1.1.7:80": errNetwork, "172.16.0.2:80": errNetwork, "example.com:80": errNetwork,
		} {
			if _, err := dial(t.Context(), "tcp", address); !errors.Is(err, want) {
				t.Errorf("%s: %s: got %v, want %v", state, address, err, want)
			}
		}
	}
	test("standby", standby)
	standby = nil
	test("suspended", errSuspended)
	s.commands.HTTP.SetSimulated(func(netip.Addr) bool { return false })
	test("leading", errNetwork)
}
