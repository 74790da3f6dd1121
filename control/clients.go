package control

import "github.com/ctrlplane/ctrlplane/observe"

// ClientList is a list of the programs outside of the process that use the API server.
type ClientList struct {
	Items []observe.Client `json:"items"`
}
