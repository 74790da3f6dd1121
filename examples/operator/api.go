package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Site is a web site: a Deployment of a web server, a Service for it, and an entry for
// its host in the registry, a ConfigMap that all sites share.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitempty"`
}

// SiteSpec is the desired state.
type SiteSpec struct {
	Host     string `json:"host"` // the host name to register
	Image    string `json:"image"`
	Replicas int32  `json:"replicas"`
}

// SiteStatus is the observed state.
type SiteStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"` // the generation that the status describes
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// SiteList is a list of Sites.
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Site `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (s *Site) DeepCopyObject() runtime.Object { return s.deepCopy() }

func (s *Site) deepCopy() *Site {
	c := *s
	c.ObjectMeta = *s.ObjectMeta.DeepCopy()
	c.Status.Conditions = nil
	for _, condition := range s.Status.Conditions {
		c.Status.Conditions = append(c.Status.Conditions, *condition.DeepCopy())
	}
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *SiteList) DeepCopyObject() runtime.Object {
	c := *l
	c.ListMeta = *l.ListMeta.DeepCopy()
	c.Items = make([]Site, len(l.Items))
	for i := range l.Items {
		c.Items[i] = *l.Items[i].deepCopy()
	}
	return &c
}

var groupVersion = schema.GroupVersion{Group: "example.com", Version: "v1"}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(groupVersion, &Site{}, &SiteList{})
	metav1.AddToGroupVersion(s, groupVersion)
	return nil
}
