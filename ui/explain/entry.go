package explain

import (
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// Facts is what is known about a running control plane.
type Facts struct {
	// Snapshot is its observed state; nil if no control plane was asked.
	Snapshot *observe.Snapshot
	// Aliases maps the names of controllers to their other names.
	Aliases map[string][]string
	// Flags are the flags of kube-controller-manager, with their default values if
	// no control plane was asked.
	Flags []control.Flag
	// RBAC has the roles and bindings; nil if no control plane was asked.
	RBAC *RBAC
	// Versions maps the paths of the linked modules to their versions.
	Versions map[string]string
}

// Entry is everything that is known about a controller.
type Entry struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	Group   string   `json:"group"`
	Purpose string   `json:"purpose"`

	// Asked says that a running control plane was asked, Observed that it observes
	// what the controller does. Without both, State, Watches and Writes are unknown.
	// Of a controller that a client reports, Watches are the resources whose events it has received so far, and Client has
	// what the client watches, for all of its controllers.
	Asked    bool                 `json:"asked"`
	Observed bool                 `json:"observed"`
	State    string               `json:"state,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	Watches  []string             `json:"watches,omitempty"`
	Writes   []observe.WriteCount `json:"writes,omitempty"` // so far
	Queues   []Queue              `json:"queues,omitempty"`
	Client   *Client              `json:"client,omitempty"`

	Decides     []string       `json:"decides"`
	Here        []string       `json:"here,omitempty"` // what differs in ctrlplane
	Flags       []control.Flag `json:"flags,omitempty"`
	Settings    []string       `json:"settings,omitempty"` // flags of "ctrlplane up"
	As          []string       `json:"as,omitempty"`
	Permissions []Permission   `json:"permissions,omitempty"`
	Fails       []Failure      `json:"fails"`
	Source      []Source       `json:"source"`
	Drawing     string         `json:"drawing,omitempty"`
}

// Client is the client that reports a controller.
type Client struct {
	Name    string   `json:"name"`
	Watches []string `json:"watches,omitempty"` // resources
	Refused string   `json:"refused,omitempty"` // lists and watches, as observe.Client.Refused
}

// Queue is a work queue. Its numbers have the meaning of the workqueue_* metrics.
type Queue struct {
	Name    string `json:"name"` // empty if the queue is unnamed and so cannot be observed
	Key     string `json:"key,omitempty"`
	Workers int    `json:"workers,omitempty"` // 0 if unknown
	Depth   int64  `json:"depth"`
	Adds    int64  `json:"adds"`
	Retries int64  `json:"retries"`
	// ErrorRetries counts those of Retries that followed a failed sync; -1 if unknown.
	ErrorRetries int64 `json:"errorRetries"`
	observed     bool
}

// Source is a source file.
type Source struct {
	Module  string `json:"module"`
	Version string `json:"version,omitempty"` // empty if unknown
	Path    string `json:"path"`              // within the module
}

// NewEntry combines the page with facts about a control plane.
func (p Page) NewEntry(k Facts) Entry {
	e := Entry{
		Name: p.Name, Aliases: slices.Concat(p.Aliases, k.Aliases[p.Name]), Group: p.Group, Purpose: p.Purpose,
		Decides: p.Decides, Here: p.Here, Flags: p.selectFlags(k.Flags), Settings: p.Settings, As: userNames(p.As),
		Fails: p.Fails, Drawing: p.Drawing,
	}
	for _, path := range p.Source {
		e.Source = append(e.Source, parseSource(path, k.Versions))
	}
	var queues []observe.Queue
	if k.Snapshot != nil {
		e.Asked = true
		if i := slices.IndexFunc(k.Snapshot.Controllers, func(c observe.Controller) bool { return c.Name == p.Name }); i >= 0 {
			c := k.Snapshot.Controllers[i]
			e.Observed = true
			e.State, e.Reason, e.Watches, e.Writes = c.State, c.Reason, c.Watches, c.Writes
			if failing := ui.FailingLines(c.ProcessState(), c.Failing, c.MoreFailing, k.Snapshot.Process.Settled, k.Snapshot.Time); len(failing) > 0 {
				e.Reason = strings.Join(append(slices.DeleteFunc([]string{c.Reason}, func(s string) bool { return s == "" }), failing...), "; ")
			}
		}
		queues = k.Snapshot.Queues
		e.Client = clientOf(k.Snapshot, p.Name)
	}
	e.Queues = p.joinQueues(queues)
	if k.RBAC != nil {
		e.Permissions = k.RBAC.Permissions(e.As)
	}
	return e
}

// clientOf returns the client that reports a controller; nil if none does.
func clientOf(s *observe.Snapshot, controller string) *Client {
	i := slices.IndexFunc(s.Clients, func(c observe.Client) bool { return slices.Contains(c.Controllers, controller) })
	if i < 0 {
		return nil
	}
	c := &Client{Name: s.Clients[i].Name, Refused: s.Clients[i].Refused}
	for _, w := range s.Clients[i].Watches {
		c.Watches = append(c.Watches, w.Resource)
	}
	slices.Sort(c.Watches)
	c.Watches = slices.Compact(c.Watches)
	return c
}

// joinQueues returns the controller's observed queues, and the queues of the page
// that were not observed.
func (p Page) joinQueues(all []observe.Queue) []Queue {
	var list []Queue
	for _, q := range all {
		if q.Controller == p.Name {
			list = append(list, Queue{
				Name: q.Name, Key: p.Queues[q.Name], Workers: q.Workers, Depth: q.Depth, Adds: q.Adds, Retries: q.Retries, ErrorRetries: q.ErrorRetries, observed: true,
			})
		}
	}
	for name, key := range p.Queues {
		if !slices.ContainsFunc(list, func(q Queue) bool { return q.Name == name }) {
			list = append(list, Queue{Name: name, Key: key})
		}
	}
	// Unnamed queues come last: nothing is known about them but their keys.
	slices.SortFunc(list, func(a, b Queue) int {
		if (a.Name == "") != (b.Name == "") {
			return strings.Compare(b.Name, a.Name)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list
}

// selectFlags returns the flags of the set with the controller's name, and the
// further ones that the page names.
func (p Page) selectFlags(all []control.Flag) []control.Flag {
	var list []control.Flag
	for _, f := range all {
		if f.Set == p.Name || slices.Contains(p.Flags, f.Name) {
			list = append(list, f)
		}
	}
	return list
}

// userNames returns full user names: names without a colon are service accounts in
// kube-system.
func userNames(as []string) []string {
	all := make([]string, len(as))
	for i, who := range as {
		if all[i] = who; !strings.Contains(who, ":") {
			all[i] = accountPrefix + who
		}
	}
	return all
}

// parseSource splits an import path into the module and the path within it.
func parseSource(path string, versions map[string]string) Source {
	elements := 2
	if strings.HasPrefix(path, "github.com/") {
		elements = 3
	}
	parts := strings.SplitN(path, "/", elements+1)
	module := strings.Join(parts[:elements], "/")
	return Source{Module: module, Version: versions[module], Path: parts[elements]}
}
