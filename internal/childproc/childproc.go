// Package childproc is what "ctrlplane child" and the program that starts it say to
// each other. The child writes one Ready, a line of JSON, to stdout; it ends when
// its stdin ends, so that it never outlives its parent.
package childproc

// Verb is what the command line calls it.
const Verb = "child"

// ProtocolVersion is raised when what the two say to each other, or what is served below
// control.Path, changes its meaning.
const ProtocolVersion = 1

// ReadyMessage is what the child says once its control plane is usable.
type ReadyMessage struct {
	Protocol   int    `json:"protocol"`
	Version    string `json:"version"`    // of ctrlplane
	Kubernetes string `json:"kubernetes"` // the version that is served
	PID        int    `json:"pid"`
	URL        string `json:"url"`
	DataDir    string `json:"dataDir"`
	Kubeconfig string `json:"kubeconfig"` // a file
}
