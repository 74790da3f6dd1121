package volumes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// ignoreServerFields ignores the fields that the fake server sets.
var ignoreServerFields = cmp.Options{
	cmpopts.IgnoreTypes(metav1.TypeMeta{}),
	cmpopts.IgnoreFields(metav1.ObjectMeta{}, "ManagedFields"),
}

// testCluster is a fake API server and the provisioner that runs on it.
type testCluster struct {
	t      *testing.T
	client *fake.Clientset
	events []*corev1.Event
}

// runInCluster runs a test in a synctest bubble.
func runInCluster(t *testing.T, test func(*testCluster), objects ...runtime.Object) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &testCluster{t: t, client: fake.NewClientset(objects...)}
		c.client.PrependReactor("create", "events", func(a clienttesting.Action) (bool, runtime.Object, error) {
			e := a.(clienttesting.CreateAction).GetObject().(*corev1.Event)
			c.events = append(c.events, e)
			return true, e, nil
		})
		test(c)
	})
}

// runProvisioner runs the provisioner until stop is called or the test ends. It returns
// when the provisioner has nothing left to do.
func (c *testCluster) runProvisioner() (stop func()) {
	c.t.Helper()
	p, err := New(Config{})
	if err != nil {
		c.t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	run, err := p.Build(Environment{
		Informers: factory,
		Client:    func(string) (kubernetes.Interface, error) { return c.client, nil },
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	factory.StartWithContext(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
		factory.Shutdown()
	}
	c.t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// advance advances the time of the bubble.
func (c *testCluster) advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (c *testCluster) listVolumes() []corev1.PersistentVolume {
	c.t.Helper()
	list, err := c.client.CoreV1().PersistentVolumes().List(c.t.Context(), metav1.ListOptions{})
	c.must(err)
	return list.Items
}

func (c *testCluster) getClaim(name string) *corev1.PersistentVolumeClaim {
	c.t.Helper()
	claim, err := c.client.CoreV1().PersistentVolumeClaims("default").Get(c.t.Context(), name, metav1.GetOptions{})
	c.must(err)
	return claim
}

func (c *testCluster) updateClaim(claim *corev1.PersistentVolumeClaim) {
	c.t.Helper()
	_, err := c.client.CoreV1().PersistentVolumeClaims("default").Update(c.t.Context(), claim, metav1.UpdateOptions{})
	c.must(err)
	synctest.Wait()
}

func (c *testCluster) updateVolume(v *corev1.PersistentVolume) {
	c.t.Helper()
	_, err := c.client.CoreV1().PersistentVolumes().Update(c.t.Context(), v, metav1.UpdateOptions{})
	c.must(err)
	synctest.Wait()
}

// takeEventReasons returns the types and reasons of the events since the last call.
func (c *testCluster) takeEventReasons() (list []string) {
	for _, e := range c.events {
		list = append(list, e.Type+" "+e.Reason)
	}
	c.events = nil
	return list
}

// failCalls makes the next n such calls fail.
func (c *testCluster) failCalls(n int, verb, what string, err error) {
	c.client.PrependReactor(verb, what, func(clienttesting.Action) (bool, runtime.Object, error) {
		n--
		return n >= 0, nil, err
	})
}

func (c *testCluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// writesTo lists the writes of a resource.
func (c *testCluster) writesTo(what string) (list []string) {
	for _, a := range c.client.Actions() {
		switch a.GetVerb() {
		case "get", "list", "watch":
		default:
			if a.GetResource().Resource == what {
				list = append(list, a.GetVerb()+" "+a.GetSubresource())
			}
		}
	}
	return list
}

// newClaim returns a claim as the volume binder leaves it for a provisioner.
func newClaim(name, class string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "7",
			Annotations: map[string]string{"volume.kubernetes.io/storage-provisioner": driverName},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: storageList("1Gi")},
			VolumeMode:       new(corev1.PersistentVolumeFilesystem),
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

// newBoundClaim returns a claim and its volume of that size.
func newBoundClaim(name, size string) (*corev1.PersistentVolumeClaim, *corev1.PersistentVolume) {
	c := newClaim(name, "now")
	v := newVolume(c, newImmediateClass("now"), nil)
	c.Spec.VolumeName = v.Name
	c.Spec.Resources.Requests = storageList(size)
	c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: storageList(size)}
	v.UID, v.ResourceVersion = types.UID("of-"+name), "9"
	v.Spec.Capacity = storageList(size)
	v.Status.Phase = corev1.VolumeBound
	return c, v
}

func withSelectedNode(node string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Annotations["volume.kubernetes.io/selected-node"] = node }
}

func storageList(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func newImmediateClass(name string) *storagev1.StorageClass {
	s := newDefaultClass(storagev1.VolumeBindingImmediate)
	s.Name, s.Annotations = name, nil
	return s
}
