package controllers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/apiserverinternal"
	"k8s.io/client-go/informers/apps"
	"k8s.io/client-go/informers/autoscaling"
	"k8s.io/client-go/informers/batch"
	"k8s.io/client-go/informers/certificates"
	"k8s.io/client-go/informers/coordination"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/discovery"
	"k8s.io/client-go/informers/events"
	"k8s.io/client-go/informers/extensions"
	"k8s.io/client-go/informers/flowcontrol"
	"k8s.io/client-go/informers/lifecycle"
	"k8s.io/client-go/informers/networking"
	"k8s.io/client-go/informers/node"
	"k8s.io/client-go/informers/policy"
	"k8s.io/client-go/informers/rbac"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/informers/storagemigration"
)

// The group accessors are built over the facade, not over the shared factory:
// so InformerFor sees every informer that a controller asks for.

func (f *facade) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Apps() apps.Interface { return apps.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Autoscaling() autoscaling.Interface {
	return autoscaling.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Batch() batch.Interface { return batch.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Certificates() certificates.Interface {
	return certificates.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Coordination() coordination.Interface {
	return coordination.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Core() core.Interface { return core.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Discovery() discovery.Interface { return discovery.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Events() events.Interface { return events.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Extensions() extensions.Interface {
	return extensions.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Lifecycle() lifecycle.Interface { return lifecycle.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Networking() networking.Interface {
	return networking.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Node() node.Interface { return node.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Policy() policy.Interface { return policy.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Rbac() rbac.Interface { return rbac.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Resource() resource.Interface { return resource.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Scheduling() scheduling.Interface {
	return scheduling.New(f, metav1.NamespaceAll, nil)
}

func (f *facade) Storage() storage.Interface { return storage.New(f, metav1.NamespaceAll, nil) }

func (f *facade) Storagemigration() storagemigration.Interface {
	return storagemigration.New(f, metav1.NamespaceAll, nil)
}
