package useragent

import (
	"regexp"
	"testing"

	"k8s.io/client-go/rest"
)

func TestSet(t *testing.T) {
	form := regexp.MustCompile(`^kubelet/\S+ \(\w+/\w+\) kubernetes/\S+/leases$`)
	if got := Set(&rest.Config{}, Kubelet, "leases").UserAgent; !form.MatchString(got) {
		t.Errorf("got %q, want the form %v", got, form)
	}
}
