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

func TestDefaultClass(t *testing.T) {
	other := immediate("fast")
	other.Annotations = map[string]string{volumeutil.IsDefaultStorageClassAnnotation: "true"}
	changed := immediate(ClassName)
	changed.Provisioner = "example.com/disk"
	wanted := class(storagev1.VolumeBindingWaitForFirstConsumer)
	for name, test := range map[string]struct {
		have []runtime.Object
		want []storagev1.StorageClass
	}{
		"none":                    {nil, []storagev1.StorageClass{*wanted}},
		"ours":                    {[]runtime.Object{wanted}, []storagev1.StorageClass{*wanted}},
		"another default":         {[]runtime.Object{other}, []storagev1.StorageClass{*other}},
		"no default":              {[]runtime.Object{immediate("now")}, []storagev1.StorageClass{*immediate("now"), *wanted}},
		"of that name, not ours":  {[]runtime.Object{changed}, []storagev1.StorageClass{*changed}},
		"the driver, not a class": {[]runtime.Object{driver()}, []storagev1.StorageClass{*wanted}},
	} {
		t.Run(name, func(t *testing.T) {
			inCluster(t, func(c *cluster) {
				c.run()
				classes, err := c.client.StorageV1().StorageClasses().List(c.t.Context(), metav1.ListOptions{})
				c.must(err)
				if diff := cmp.Diff(test.want, classes.Items, asStored); diff != "" {
					c.t.Error(diff)
				}
				_, err = c.client.StorageV1().CSIDrivers().Get(c.t.Context(), Driver, metav1.GetOptions{})
				c.must(err)
			}, test.have...)
		})
	}
}

func TestDefaultClassIsTriedAgain(t *testing.T) {
	inCluster(t, func(c *cluster) {
		forbidden := errors.New("there is no such role yet")
		c.fail(2, "create", "csidrivers", forbidden)
		c.fail(3, "create", "storageclasses", forbidden)
		c.run()
		if n := len(c.volumes()); n != 0 {
			c.t.Fatalf("%d volumes before there is a driver", n)
		}
		c.after(5 * time.Second)
		_, err := c.client.StorageV1().StorageClasses().Get(c.t.Context(), ClassName, metav1.GetOptions{})
		c.must(err)
		if n := len(c.volumes()); n != 1 {
			c.t.Errorf("%d volumes, want 1", n)
		}
	}, waiting("a", "now"), immediate("now"))
}

func TestEndsWhilePreparing(t *testing.T) {
	inCluster(t, func(c *cluster) {
		c.fail(1e6, "create", "csidrivers", errors.New("never"))
		stop := c.run()
		c.after(time.Hour)
		stop()
		if n := len(c.calls("csidrivers")); n < 100 || n > 200 {
			c.t.Errorf("%d tries in an hour", n)
		}
	})
}
