package container

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestServicesDuringRelist reads the Services while a watch lists them again: a container that
// starts then has the environment variables of all.
func TestServicesDuringRelist(t *testing.T) {
	var list []metav1.Object
	for i := range 20 {
		list = append(list, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("s", i)}})
	}
	var s serviceStore
	s.replace(list)
	var wg sync.WaitGroup
	defer wg.Wait()
	relisted := make(chan struct{})
	wg.Go(func() {
		defer close(relisted)
		for range 2000 {
			s.replace(list)
		}
	})
	for {
		select {
		case <-relisted:
			return
		default:
		}
		if got := len(s.in("ns")); got != len(list) {
			t.Fatalf("%d of %d services", got, len(list))
		}
	}
}
