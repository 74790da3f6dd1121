// Package rest serves the API of package control over HTTP, and has its client.
// The API server's authentication and authorization protect it. The client
// needs no Kubernetes server code.
package rest

// Path is the path below which the API is served.
const Path = "/ctrlplane"

// The paths of the API.
const (
	// ControllersPath is the list of controllers. Below it are the interventions.
	ControllersPath = Path + "/v1/controllers"
	// ClientsPath is the list of clients. Below it are the interventions in them.
	ClientsPath = Path + "/v1/clients"
	// PermissionsPath is what the client with the parameter name has asked for.
	PermissionsPath = ClientsPath + "/permissions"
	// ReportsPath takes what clients that use the instrument module report about their
	// controllers.
	ReportsPath = Path + "/v1/reports"
	// SnapshotPath is all that is known at the moment.
	SnapshotPath = Path + "/v1/snapshot"
	// RecordsPath is what has happened.
	RecordsPath = Path + "/v1/records"
	// SettledPath answers when the control plane has settled.
	SettledPath = Path + "/v1/settled"
	// TracePath is what an object has caused, WhyPath what has caused its changes.
	TracePath = Path + "/v1/trace"
	WhyPath   = Path + "/v1/why"
	// InterventionsPath ends all interventions with DELETE.
	InterventionsPath = Path + "/v1/interventions"
	// NodesPath is the simulated nodes.
	NodesPath = Path + "/v1/nodes"
	// UnhealthyPath is the objects that wait for something that need not come by itself.
	UnhealthyPath = Path + "/v1/unhealthy"
	// FlagsPath is the flags of kube-controller-manager.
	FlagsPath = Path + "/v1/flags"
	// SpeedPath sets the speed with PUT. POST to SpeedPath/step releases one key.
	SpeedPath = Path + "/v1/speed"
	// StatePath is the state as a snapshot file: GET saves it, PUT restores it.
	StatePath = Path + "/v1/state"
	// ResetPath restores the state right after the start: see control.Snapshots.
	ResetPath = Path + "/v1/reset"
)

// nameParameter is the parameter for a name. Of nodes it is repeatable.
const nameParameter = "name"

// failingParameter is the parameter of SnapshotPath for the failing keys that the snapshot shall have in any case.
const failingParameter = "failing"
