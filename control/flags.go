package control

// Flag is a flag of kube-controller-manager.
type Flag struct {
	Set     string `json:"set"` // upstream's group of flags: a controller's name, or a word
	Name    string `json:"name"`
	Default string `json:"default"`
	Value   string `json:"value"` // the current value, or the default without a control plane
	Usage   string `json:"usage"`
}

// FlagList is a list of flags.
type FlagList struct {
	Items []Flag `json:"items"`
}
