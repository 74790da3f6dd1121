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

// The group accessors are built over the view, not over the shared factory:
// so InformerFor sees every informer that a controller asks for.

func (v *informerView) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Internal() apiserverinternal.Interface {
	return apiserverinternal.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Apps() apps.Interface { return apps.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Autoscaling() autoscaling.Interface {
	return autoscaling.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Batch() batch.Interface { return batch.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Certificates() certificates.Interface {
	return certificates.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Coordination() coordination.Interface {
	return coordination.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Core() core.Interface { return core.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Discovery() discovery.Interface {
	return discovery.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Events() events.Interface { return events.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Extensions() extensions.Interface {
	return extensions.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Flowcontrol() flowcontrol.Interface {
	return flowcontrol.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Lifecycle() lifecycle.Interface {
	return lifecycle.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Networking() networking.Interface {
	return networking.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Node() node.Interface { return node.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Policy() policy.Interface { return policy.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Rbac() rbac.Interface { return rbac.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Resource() resource.Interface {
	return resource.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Scheduling() scheduling.Interface {
	return scheduling.New(v, metav1.NamespaceAll, nil)
}

func (v *informerView) Storage() storage.Interface { return storage.New(v, metav1.NamespaceAll, nil) }

func (v *informerView) Storagemigration() storagemigration.Interface {
	return storagemigration.New(v, metav1.NamespaceAll, nil)
}
