package volumes

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

const (
	// Name is the controller's, and that of the service account it acts as.
	Name = "volume-provisioner-controller"
	// Alias is the controller's short name.
	Alias = "volumes"
	// DriverName is the CSI driver of simulated volumes, and the provisioner that a
	// StorageClass names to get them.
	DriverName = "csi.ctrlplane.local"
	// ClassName is the name of the StorageClass that is made the default.
	ClassName = "standard"
)

// deprecatedDriverName is the driver of earlier releases. Data directories and
// snapshots have it in StorageClasses, whose provisioner is immutable, in claims
// and in volumes. It ends in a domain that is not ours, so nothing new gets it.
const deprecatedDriverName = "simulated.ctrlplane" + ".dev"

// isOurDriver reports whether the simulation provides the volumes of a CSI driver.
func isOurDriver(name string) bool { return name == DriverName || name == deprecatedDriverName }

// Config says what the default StorageClass is like.
type Config struct {
	// BindingMode is WaitForFirstConsumer if empty: so it is with kind and most
	// clouds, and a chart that only works when claims bind at once shows it here.
	// Where nothing schedules Pods, Immediate is the one that binds.
	BindingMode storagev1.VolumeBindingMode
}

// Provisioner makes, grows and deletes the volumes of claims.
type Provisioner struct {
	bindingMode storagev1.VolumeBindingMode
}

// Environment is what a Provisioner is given to work with.
type Environment struct {
	Informers informers.SharedInformerFactory
	// Client returns a client that acts as the service account of that name.
	Client func(account string) (kubernetes.Interface, error)
}

// New returns a Provisioner, or what is wrong with its configuration.
func New(c Config) (*Provisioner, error) {
	switch c.BindingMode {
	case "":
		c.BindingMode = storagev1.VolumeBindingWaitForFirstConsumer
	case storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer:
	default:
		return nil, fmt.Errorf("volume binding mode %q is not known: choose %s or %s",
			c.BindingMode, storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)
	}
	return &Provisioner{bindingMode: c.BindingMode}, nil
}
