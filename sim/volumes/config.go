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
	// DriverName is what a StorageClass names as its provisioner to get such volumes.
	DriverName = "simulated.ctrlplane.dev"
	// ClassName is the name of the StorageClass that is made the default.
	ClassName = "standard"
)

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
