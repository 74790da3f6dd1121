// Package useragent names programs in requests to the API server. It is the manager of the
// fields that a request sets, and what audit logs have. Client-go takes the name from the
// executable file, whose parts are several programs here.
package useragent

import (
	"strings"

	"k8s.io/client-go/rest"
)

// The programs of Kubernetes whose work parts of this process do.
const (
	APIServer              = "kube-apiserver"
	ControllerManager      = "kube-controller-manager"
	CloudControllerManager = "cloud-controller-manager"
	Scheduler              = "kube-scheduler"
	Kubelet                = "kubelet"
	CSIProvisioner         = "csi-provisioner"
)

// Of returns the user agent of a program in the form of client-go:
// PROGRAM/VERSION (OS/ARCH) kubernetes/COMMIT.
func Of(program string) string {
	_, version, _ := strings.Cut(rest.DefaultKubernetesUserAgent(), "/")
	return program + "/" + version
}

// Set sets the user agent of a client to that of a part of a program, as rest.AddUserAgent does.
func Set(cfg *rest.Config, program, part string) *rest.Config {
	cfg.UserAgent = Of(program) + "/" + part
	return cfg
}
