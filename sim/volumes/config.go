package volumes

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

const (
	// Name is the name of the controller and of its service account.
	Name = "volume-provisioner-controller"
	// Alias is the controller's short name.
	Alias = "volumes"
	// driverName is the CSI driver of simulated volumes, and the provisioner that a
	// StorageClass names to get them.
	driverName = "csi.ctrlplane.local"
	// className is the name of the default StorageClass.
	className = "standard"
)

// Config configures a Provisioner.
type Config struct {
	// BindingMode is that of the default StorageClass; empty means
	// WaitForFirstConsumer, as in kind and most clouds. A chart that needs claims to
	// bind at once then fails here, too. Without a scheduler, use Immediate.
	BindingMode storagev1.VolumeBindingMode
}

// Provisioner creates, expands and deletes the volumes of claims.
type Provisioner struct {
	bindingMode storagev1.VolumeBindingMode
}

// Environment is what Build needs.
type Environment struct {
	Informers informers.SharedInformerFactory
	// Client returns a client that acts as the named service account.
	Client func(account string) (kubernetes.Interface, error)
}

// New checks c and returns a Provisioner.
func New(c Config) (*Provisioner, error) {
	switch c.BindingMode {
	case "":
		c.BindingMode = storagev1.VolumeBindingWaitForFirstConsumer
	case storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer:
	default:
		return nil, fmt.Errorf("unknown volume binding mode %q: choose %s or %s",
			c.BindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)
	}
	return &Provisioner{bindingMode: c.BindingMode}, nil
}
