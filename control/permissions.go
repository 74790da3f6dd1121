package control

// Permission is what a role has to allow for a request.
type Permission struct {
	Verb      string `json:"verb"`
	Group     string `json:"group,omitempty"`
	Resource  string `json:"resource"`            // with the subresource: "pods/log"
	Namespace string `json:"namespace,omitempty"` // empty = all namespaces, or the resource has none
}

// PermissionUse is how often a client has asked for what a permission allows.
type PermissionUse struct {
	Permission
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused,omitempty"` // with 403
}

// PermissionList is what a client has asked for since the control plane was started.
type PermissionList struct {
	Client string          `json:"client"`
	User   string          `json:"user"`
	Items  []PermissionUse `json:"items"` // in the order of their first use
	// LeftOut is the number of requests for other permissions, of which there were too many.
	LeftOut int64 `json:"leftOut,omitempty"`
}
