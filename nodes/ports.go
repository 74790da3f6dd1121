package nodes

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

type hostPort struct {
	ip       string // empty = all
	protocol corev1.Protocol
	port     int32
}

// hostPorts are the ports of its node that a pod asks for; never nil.
func hostPorts(pod *corev1.Pod) []hostPort {
	ports := []hostPort{}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			ip := p.HostIP
			if ip == "0.0.0.0" || ip == "::" {
				ip = ""
			}
			ports = append(ports, hostPort{ip, p.Protocol, p.HostPort})
		}
	}
	return ports
}

func (p hostPort) clashes(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol && (p.ip == o.ip || p.ip == "" || o.ip == "")
}

// taken is whether another pod of the node holds one of the ports.
func (l *ledger) taken(e *podEntry, ports []hostPort) bool {
	if len(ports) == 0 {
		return false
	}
	for _, other := range l.onNode[e.node] {
		if other != e && slices.ContainsFunc(ports, func(p hostPort) bool { return slices.ContainsFunc(other.ports, p.clashes) }) {
			return true
		}
	}
	return false
}
