// Package childproc is the protocol between "ctrlplane child" and the program that
// starts it. The child writes one ReadyMessage, a line of JSON, to stdout. It exits
// at the end of its stdin, so that it never outlives its parent.
package childproc

// Verb is the name of the command.
const Verb = "child"

// ProtocolVersion increases when the meaning of a message changes, or of what the
// control API serves.
const ProtocolVersion = 2

// ReadyMessage is what the child writes once its control plane is usable.
type ReadyMessage struct {
	Protocol   int    `json:"protocol"`
	Version    string `json:"version"`    // of ctrlplane
	Kubernetes string `json:"kubernetes"` // the version that is served
	PID        int    `json:"pid"`
	URL        string `json:"url"`
	DataDir    string `json:"dataDir"`
	Kubeconfig string `json:"kubeconfig"` // a file
	// The files with the certificate authority of URL, and with the administrator's certificate and key: what Kubeconfig has,
	// for programs that do not read YAML.
	CAFile   string `json:"caFile"`
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
}
