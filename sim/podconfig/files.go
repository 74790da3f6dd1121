package podconfig

import (
	"bytes"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kubeletutil "k8s.io/kubernetes/pkg/kubelet/util"
)

// ClusterDomain is the DNS domain of Services and Pods.
const ClusterDomain = "cluster.local"

const maxHostname = 63

// hostname returns the host name of a Pod and its domain, which may be empty.
func hostname(pod *corev1.Pod) (name, domain string) {
	name = pod.Name
	switch {
	case pod.Spec.HostnameOverride != nil:
		return truncateHostname(*pod.Spec.HostnameOverride), ""
	case pod.Spec.HostNetwork:
		name = pod.Spec.NodeName
	case pod.Spec.Hostname != "":
		name = pod.Spec.Hostname
	}
	if pod.Spec.Subdomain != "" {
		domain = pod.Spec.Subdomain + "." + pod.Namespace + ".svc." + ClusterDomain
	}
	return truncateHostname(name), domain
}

// KernelHostname returns the host name that the commands of a Pod see, or why it cannot be set: the Pod
// cannot start then.
func KernelHostname(pod *corev1.Pod) (string, error) {
	name, domain := hostname(pod)
	if pod.Spec.HostNetwork {
		return name, nil
	}
	return kubeletutil.GetNodenameForKernel(name, domain, pod.Spec.SetHostnameAsFQDN)
}

func truncateHostname(name string) string {
	if len(name) <= maxHostname {
		return name
	}
	return strings.TrimRight(name[:maxHostname], "-.")
}

// HostsFile returns the content of /etc/hosts in the containers of a Pod.
func HostsFile(pod *corev1.Pod) []byte {
	var b bytes.Buffer
	name, domain := hostname(pod)
	if pod.Spec.HostNetwork {
		b.WriteString("# Kubernetes-managed hosts file (host network).\n")
	} else {
		b.WriteString("# Kubernetes-managed hosts file.\n")
	}
	b.WriteString("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n")
	for _, ip := range pod.Status.PodIPs {
		if domain != "" {
			fmt.Fprintf(&b, "%s\t%s.%s\t%s\n", ip.IP, name, domain, name)
		} else {
			fmt.Fprintf(&b, "%s\t%s\n", ip.IP, name)
		}
	}
	if len(pod.Spec.HostAliases) > 0 {
		b.WriteString("\n# Entries added by HostAliases.\n")
		for _, alias := range pod.Spec.HostAliases {
			fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
		}
	}
	return b.Bytes()
}

// ResolvConf returns the content of /etc/resolv.conf in the containers of a Pod.
// dns is the address of the cluster's name server, or empty.
func ResolvConf(pod *corev1.Pod, dns string) []byte {
	var servers, search, options []string
	if policy := pod.Spec.DNSPolicy; policy != corev1.DNSNone && policy != corev1.DNSDefault && (policy == corev1.DNSClusterFirstWithHostNet || !pod.Spec.HostNetwork) {
		if dns != "" {
			servers = append(servers, dns)
		}
		search = append(search, pod.Namespace+".svc."+ClusterDomain, "svc."+ClusterDomain, ClusterDomain)
		options = append(options, "ndots:5")
	}
	if config := pod.Spec.DNSConfig; config != nil {
		servers = append(servers, config.Nameservers...)
		search = append(search, config.Searches...)
		for _, o := range config.Options {
			options = setDNSOption(options, o)
		}
	}
	var b bytes.Buffer
	if len(search) > 0 {
		b.WriteString("search " + strings.Join(search, " ") + "\n")
	}
	for _, s := range servers {
		b.WriteString("nameserver " + s + "\n")
	}
	if len(options) > 0 {
		b.WriteString("options " + strings.Join(options, " ") + "\n")
	}
	return b.Bytes()
}

// setDNSOption adds an option, or replaces the one of the same name.
func setDNSOption(options []string, o corev1.PodDNSConfigOption) []string {
	text := o.Name
	if o.Value != nil && *o.Value != "" {
		text += ":" + *o.Value
	}
	for i, was := range options {
		if name, _, _ := strings.Cut(was, ":"); name == o.Name {
			options[i] = text
			return options
		}
	}
	return append(options, text)
}
