package observe

import (
	"slices"
	"time"
)

// Client describes a program outside of the process that uses the API server. One that
// restarts is the same client: its name is made of program and user.
type Client struct {
	Name string `json:"name"` // PROGRAM (USER)
	Caller
	State         string        `json:"state"`            // running, or paused if its writes are held
	Reason        string        `json:"reason,omitempty"` // which interventions are set
	Interventions Interventions `json:"interventions,omitzero"`
	// Refused says which lists and watches are refused to it again and again: what waits for them never begins.
	Refused string `json:"refused,omitempty"`
	Held    int    `json:"held,omitempty"` // held writes, those included that only a controller of it holds
	// Connected is set while a process of it runs: it has an open watch or a request without an answer, or reports.
	Connected bool `json:"connected,omitempty"`
	// SharesConnection names the other clients of the same user over the last connection over which it has sent a request and
	// one of them has watched: a process with several user agents has them, such as kueue and, for leader election, manager. A
	// test and the operator in its process do not count, and only connections over HTTP/2 do.
	SharesConnection []string `json:"sharesConnection,omitempty"`

	Requests    int64   `json:"requests"`    // all of the following, and those for no resource
	RequestRate float64 `json:"requestRate"` // per second, over the last five whole seconds
	Reads       int64   `json:"reads"`       // calls, as of a controller
	Changes     int64   `json:"changes"`     // calls that are writes
	Errors      int64   `json:"errors"`      // calls that failed, except conflicts, and reads and deletions of objects that do not exist
	Conflicts   int64   `json:"conflicts"`
	InFlight    int64   `json:"inFlight"` // requests without an answer, watches excluded
	// Writing counts writes of objects without an answer, held ones included, except of Leases and Events. Reviews,
	// requests for tokens, and streams, such as exec, write no object.
	Writing int64 `json:"writing,omitempty"`

	// Unanswered are those of Writing that have had no answer for a second, as they wait in a webhook or are held: the
	// oldest ones, at most 10.
	Unanswered []UnansweredWrite `json:"unanswered,omitempty"`

	// AwaitsReport is set while a controller of it may work for an event that was sent to it a moment ago, and that
	// its next report will tell, and when its connection was closed a moment ago: its process may have ended.
	AwaitsReport bool `json:"awaitsReport,omitempty"`

	Watches []ClientWatch `json:"watches,omitempty"` // open ones, by resource
	// Watched are the resources, as in Watches, that it has watched and does not watch any more.
	Watched []string `json:"watched,omitempty"`
	// WatchBegan is when its program opened its first watch, also with the user agent split-writer of split; zero if none is open. A watch
	// that replaces the only one over the same connection does not count.
	WatchBegan time.Time `json:"watchBegan,omitzero"`
	// WatchEnded is when the last open watch of its process ended; zero if it has one or never had one.
	WatchEnded time.Time `json:"watchEnded,omitzero"`
	// Polls are the resources that it lists again and again.
	Polls []ClientPoll `json:"polls,omitempty"`
	// Controllers names those that the client reports: it uses the instrument module.
	// ReportsDropped is the number of records that found no room in its buffer.
	Controllers    []string `json:"controllers,omitempty"`
	ReportsDropped int64    `json:"reportsDropped,omitempty"`
	// ReportsRefused is the number of reports that were answered 429 or 503: more in a second, of
	// more processes, or at the same time, than are taken. A program may send them again.
	ReportsRefused int64 `json:"reportsRefused,omitempty"`
	// ControllersLeftOut is the number of controllers that a process of the client reports
	// beyond the limits.
	ControllersLeftOut int `json:"controllersLeftOut,omitempty"`
	// Last is its last call and LastTime when that was answered.
	Last     *Called   `json:"last,omitempty"`
	LastTime time.Time `json:"lastTime,omitzero"`
	// LastWork is the same of its last call that was not for a Lease: a standby asks for that all the time. Before there is one it is
	// when the client made its first request.
	LastWork time.Time `json:"lastWork,omitzero"`
}

// IsWatching reports whether the program of the client has an open watch: see WatchBegan.
func (c *Client) IsWatching() bool { return len(c.Watches) > 0 || !c.WatchBegan.IsZero() }

// IsPolling reports whether the client lists again and again. Of one that has also watched, the process may have ended with
// its watches: only lists after that count.
func (c *Client) IsPolling() bool {
	return slices.ContainsFunc(c.Polls, func(p ClientPoll) bool { return !p.Last.Before(c.WatchEnded) })
}

// LastActive is when the client made its last request or, if that is later, when its last watch ended; zero if it is not known.
func (c *Client) LastActive() time.Time {
	if c.WatchEnded.After(c.LastTime) {
		return c.WatchEnded
	}
	return c.LastTime
}

// minSilence is how long ago the last request of a client, and the end of its last watch, have to be until its process may
// not run: one that runs asks again within that time.
const minSilence = time.Minute

// minUnwatched is the same of a client that has watched: one that runs opens a watch that has ended again at once.
const minUnwatched = 10 * time.Second

// IsSilent reports whether the client is not connected, neither watches nor polls, and has sent nothing for long.
func (c *Client) IsSilent(now time.Time) bool {
	isActive := c.Connected || c.IsWatching() || c.IsPolling()
	silence := minSilence
	if !c.WatchEnded.IsZero() {
		silence = minUnwatched
	}
	return !isActive && !c.LastTime.IsZero() && now.Sub(c.LastActive()) >= silence
}

// UnansweredWrite is a write that a client waits for.
type UnansweredWrite struct {
	Controller  string    `json:"controller"` // or the name of the client, as in Called
	Verb        string    `json:"verb"`
	Object      Object    `json:"object"`
	Subresource string    `json:"subresource,omitempty"`
	Since       time.Time `json:"since"`
	// Owner is the first owner of what it is to create, as in Called.
	Owner *Object `json:"owner,omitempty"`
}

// ClientPoll is a resource that a client lists at least three times, and has not stopped listing.
type ClientPoll struct {
	Resource string    `json:"resource"` // as in ClientWatch
	Since    time.Time `json:"since"`    // the first list
	Last     time.Time `json:"last"`
}

// ClientWatch is an open watch of a client.
type ClientWatch struct {
	Resource      string    `json:"resource"` // RESOURCE or RESOURCE.GROUP
	Namespace     string    `json:"namespace,omitempty"`
	Name          string    `json:"name,omitempty"` // of the only object that is watched
	LabelSelector string    `json:"labelSelector,omitempty"`
	FieldSelector string    `json:"fieldSelector,omitempty"`
	Since         time.Time `json:"since"`
	// ResourceVersion is the version from which the client asked for events; empty if
	// for all objects.
	ResourceVersion string `json:"resourceVersion,omitempty"`
	// Delivered counts the events that were delivered, bookmarks excluded; -1 if they cannot be
	// read, as over a WebSocket, in CBOR or through the proxy of an aggregated API.
	Delivered int64     `json:"delivered"`
	LastTime  time.Time `json:"lastTime,omitzero"` // of the last event
}

// Caller is who made a call from outside of the process; empty for what ctrlplane does for its user.
type Caller struct {
	User         string   `json:"user,omitempty"` // empty if the request was not authenticated
	Groups       []string `json:"groups,omitempty"`
	UserAgent    string   `json:"userAgent,omitempty"`
	Impersonates string   `json:"impersonates,omitempty"` // the user as whom it acts, if another
}
