package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PageSpec defines the desired state of Page.
type PageSpec struct {
	// text is published in a ConfigMap of the same name.
	Text string `json:"text"`
}

// PageStatus defines the observed state of Page.
type PageStatus struct {
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Page is the Schema for the pages API.
type Page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PageSpec   `json:"spec"`
	Status PageStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// PageList contains a list of Page.
type PageList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Page `json:"items"`
}
