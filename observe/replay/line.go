package replay

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// formatVersion is the version of the format that docs/json.md describes. It increases when a
// field or kind is removed or changes its meaning, not when one is added.
const formatVersion = 1

// The kinds of lines that are not records.
const (
	headerKind       = "ctrlplane"
	snapshotKind     = "snapshot"
	stateChangedKind = "stateChanged"
	resourcesKind    = "resources"
	restartedKind    = "restarted"
)

// Header is the first line.
type Header struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	// Part is the number of a file of a recording whose older files are removed, from 1;
	// Began is when the first of them began.
	Part  int       `json:"part,omitempty"`
	Began time.Time `json:"began,omitzero"`
	// Problems says that snapshots have the problems of objects, which older versions did not record.
	Problems bool `json:"problems,omitempty"`
}

// NewHeader returns the header of the current format.
func NewHeader(now time.Time) Header {
	return Header{Kind: headerKind, Version: formatVersion, Time: now}
}

// snapshotLine is a whole snapshot.
type snapshotLine struct {
	Kind string `json:"kind"`
	observe.Snapshot
}

// stateChange is what has changed since the previous snapshot or stateChange.
type stateChange struct {
	Kind    string               `json:"kind"`
	Time    time.Time            `json:"time"`
	Process observe.Process      `json:"process"`
	Journal observe.JournalStats `json:"journal"`
	// Whole names the lists that are complete. Of the others, the elements that are not
	// listed have not changed.
	Whole []string `json:"whole,omitempty"`
	// IdleSamples is how many samples the histories of the queues that are not listed go on with: see withIdle.
	IdleSamples int                  `json:"idleSamples,omitempty"`
	Controllers []observe.Controller `json:"controllers,omitempty"`
	Queues      []queueChange        `json:"queues,omitempty"`
	Clients     []observe.Client     `json:"clients,omitempty"`
	Timers      []observe.Timer      `json:"timers,omitempty"`
	Problems    []observe.Problem    `json:"problems,omitempty"`
}

// queueChange is a queue whose history is the last Keep samples of the one that was last listed,
// followed by Samples.
type queueChange struct {
	observe.Queue
	Keep    int              `json:"keep,omitempty"`
	Samples []observe.Sample `json:"samples,omitempty"`
}

// historySamples is how many samples a history has that goes on without work.
const historySamples = 60

// withIdle returns the history of a queue after further samples without work, in which it has had its depth. As in a
// snapshot, a history without a number is none.
func withIdle(history []observe.Sample, depth int64, samples int) []observe.Sample {
	if samples == 0 || len(history) == 0 {
		return history
	}
	all := append(slices.Clone(history), slices.Repeat([]observe.Sample{{MaxDepth: depth}}, min(samples, historySamples))...)
	all = all[max(0, len(all)-historySamples):]
	if !slices.ContainsFunc(all, func(s observe.Sample) bool { return s != observe.Sample{} }) {
		return nil
	}
	return all
}

// Resource is a resource that the API server serves, by whose names users call it.
type Resource struct {
	Group      string   `json:"group,omitempty"`
	Version    string   `json:"version"` // the preferred one
	Resource   string   `json:"resource"`
	Singular   string   `json:"singular,omitempty"`
	Kind       string   `json:"kind"`
	ShortNames []string `json:"shortNames,omitempty"`
	Namespaced bool     `json:"namespaced,omitempty"`
}

// resourcesLine has all resources.
type resourcesLine struct {
	Kind      string     `json:"kind"`
	Time      time.Time  `json:"time"`
	Resources []Resource `json:"resources"`
}

// missedLine counts records that were dropped before they were read.
type missedLine struct {
	Kind   string    `json:"kind"`
	Time   time.Time `json:"time"`
	Missed uint64    `json:"missed"`
}
