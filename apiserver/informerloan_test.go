package apiserver

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
)

func TestInformerLoan(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	factory := informers.NewSharedInformerFactory(fake.NewClientset(pod), 0)
	loan := NewInformerLoan()
	loan.lend(factory)
	loan.Close() // too late: it has been lent
	stop := make(chan struct{})
	factory.Start(stop)
	factory.WaitForCacheSync(stop)
	pods, nodes := loan.Wait()
	_, exists, err := pods.GetStore().GetByKey("default/web")
	if err != nil || !exists {
		t.Fatal(exists, err)
	}
	if !nodes.HasSynced() {
		t.Error("the factory does not run the informer of Nodes")
	}
	close(stop)
	factory.Shutdown()

	failed := NewInformerLoan()
	failed.Close()
	if pods, nodes := failed.Wait(); pods != nil || nodes != nil {
		t.Error("got informers of an API server that has none")
	}
}
