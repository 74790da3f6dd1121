package volumes

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
)

func TestDefaultClassIsCreatedOnce(t *testing.T) {
	other := newImmediateClass("fast")
	other.Annotations = map[string]string{volumeutil.IsDefaultStorageClassAnnotation: "true"}
	changed := newImmediateClass(className)
	changed.Provisioner = "example.com/disk"
	wanted := newDefaultClass(storagev1.VolumeBindingWaitForFirstConsumer)
	for name, test := range map[string]struct {
		have []runtime.Object
		want []storagev1.StorageClass
	}{
		"none":                         {nil, []storagev1.StorageClass{*wanted}},
		"default of an earlier run":    {[]runtime.Object{wanted}, []storagev1.StorageClass{*wanted}},
		"another default":              {[]runtime.Object{other}, []storagev1.StorageClass{*other}},
		"no default":                   {[]runtime.Object{newImmediateClass("now")}, []storagev1.StorageClass{*newImmediateClass("now"), *wanted}},
		"same name, other provisioner": {[]runtime.Object{changed}, []storagev1.StorageClass{*changed}},
		"the driver, not a class":      {[]runtime.Object{newCSIDriver()}, []storagev1.StorageClass{*wanted}},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *testCluster) {
				c.runProvisioner()
				classes, err := c.client.StorageV1().StorageClasses().List(c.t.Context(), metav1.ListOptions{})
				c.must(err)
				if diff := cmp.Diff(test.want, classes.Items, ignoreServerFields); diff != "" {
					c.t.Error(diff)
				}
				_, err = c.client.StorageV1().CSIDrivers().Get(c.t.Context(), driverName, metav1.GetOptions{})
				c.must(err)
			}, test.have...)
		})
	}
}

// A request that fails because the object exists is recorded, and looks like a fault.
func TestExistingDriverIsNotCreated(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.runProvisioner()
		if got := c.writesTo("csidrivers"); len(got) != 0 {
			c.t.Errorf("got %v", got)
		}
	}, newCSIDriver())
}

func TestDefaultClassIsRetried(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		forbidden := errors.New("forbidden")
		c.failCalls(2, "create", "csidrivers", forbidden)
		c.failCalls(3, "create", "storageclasses", forbidden)
		c.runProvisioner()
		if n := len(c.listVolumes()); n != 0 {
			c.t.Fatalf("%d volumes before the CSIDriver exists", n)
		}
		c.advance(5 * time.Second)
		_, err := c.client.StorageV1().StorageClasses().Get(c.t.Context(), className, metav1.GetOptions{})
		c.must(err)
		if n := len(c.listVolumes()); n != 1 {
			c.t.Errorf("%d volumes, want 1", n)
		}
	}, newClaim("a", "now"), newImmediateClass("now"))
}

func TestStopWhileDefaultsAreRetried(t *testing.T) {
	runInCluster(t, func(c *testCluster) {
		c.failCalls(1e6, "create", "csidrivers", errors.New("never"))
		stop := c.runProvisioner()
		c.advance(time.Hour)
		stop()
		if n := len(c.writesTo("csidrivers")); n < 100 || n > 200 {
			c.t.Errorf("%d attempts in an hour", n)
		}
	})
}
