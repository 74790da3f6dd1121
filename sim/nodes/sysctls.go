package nodes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/kubernetes/pkg/kubelet/sysctl"
	"k8s.io/pod-security-admission/policy"
)

// checkSysctls returns why a kubelet rejects the kernel parameters of a Pod; nil if it
// accepts them. Which are safe does not depend on the kernel of this machine, as it does
// in a kubelet: the list is that of the Pod Security Standards.
func checkSysctls(pod *corev1.Pod) *rejection {
	if pod.Spec.SecurityContext == nil || len(pod.Spec.SecurityContext.Sysctls) == 0 {
		return nil
	}
	var safe []string
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		if isSafeSysctl(s.Name) {
			safe = append(safe, s.Name)
		}
	}
	allowed, err := sysctl.NewAllowlist(safe)
	if err != nil { // only if upstream's two lists differ
		return &rejection{sysctl.ForbiddenReason, "forbidden sysctl: " + err.Error()}
	}
	if result := allowed.Admit(context.Background(), &lifecycle.PodAdmitAttributes{Pod: pod}); !result.Admit {
		return &rejection{result.Reason, result.Message}
	}
	return nil
}

func isSafeSysctl(name string) bool {
	versions := policy.CheckSysctls().Versions
	spec := &corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: name}}}}
	return versions[len(versions)-1].CheckPod(&metav1.ObjectMeta{}, spec).Allowed
}
