package clients

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// The numbers of permissions that are kept of a client, and of all. An operator uses some dozens;
// one that works in many namespaces uses them in each.
const (
	maxPermissions    = 2048
	maxAllPermissions = 32768
)

// permissions are those that a client has used, or has been refused.
type permissions struct {
	mu      sync.Mutex
	uses    []control.PermissionUse
	index   map[control.Permission]int // in uses
	leftOut int64
	all     *atomic.Int64 // how many there are of all clients
	ended   bool          // the client was forgotten; a request of it may be answered later
}

// forget is called when the client is forgotten.
func (p *permissions) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all.Add(-int64(len(p.uses)))
	p.uses, p.index, p.ended = nil, nil, true
}

// note counts a call that was answered. Requests for other paths than those of resources are
// left out, and so are those as another user, whose permissions count for them, and those for
// what cannot exist: a role with a "*" of a path would allow everything.
func (p *permissions) note(c *observe.Called) {
	if c.Status == 0 || strings.HasPrefix(c.Object.Resource, "/") || c.Client != nil && c.Client.Impersonates != "" || !hasNames(c) {
		return
	}
	needs := control.Permission{Verb: c.Verb, Group: c.Object.Group, Resource: c.Object.Resource, Namespace: c.Object.Namespace}
	if c.Subresource != "" {
		needs.Resource += "/" + c.Subresource
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.count(needs, c.Status)
	if c.Status == http.StatusCreated && (c.Verb == "patch" || c.Verb == "update") {
		needs.Verb = "create" // the API server asks for it, too
		p.count(needs, c.Status)
	}
}

// hasNames reports whether what a role would have of a call are names.
func hasNames(c *observe.Called) bool {
	if c.Verb == "" || c.Object.Resource == "" {
		return false
	}
	for _, name := range []string{c.Verb, c.Object.Group, c.Object.Resource, c.Subresource, c.Object.Namespace} {
		if strings.ContainsFunc(name, isNotOfNames) {
			return false
		}
	}
	return true
}

func isNotOfNames(r rune) bool {
	isLetter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !isLetter && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_'
}

func (p *permissions) count(needs control.Permission, status int) {
	i, known := p.index[needs]
	switch {
	case !known && (len(p.uses) == maxPermissions || p.all.Load() >= maxAllPermissions):
		p.leftOut++
		return
	case !known:
		if p.index == nil {
			p.index = map[control.Permission]int{}
		}
		i = len(p.uses)
		p.index[needs] = i
		p.uses = append(p.uses, control.PermissionUse{Permission: needs})
		p.all.Add(1)
	}
	p.uses[i].Requests++
	if status == http.StatusForbidden {
		p.uses[i].Refused++
	}
}

// Permissions returns what a client, by its name or program, has asked for.
func (c *Clients) Permissions(name string) (control.PermissionList, error) {
	cl, err := findClient(c.sorted(), name)
	if err != nil {
		return control.PermissionList{}, err
	}
	p := &cl.permissions
	p.mu.Lock()
	defer p.mu.Unlock()
	return control.PermissionList{Client: cl.name, User: cl.caller.Load().User, Items: append([]control.PermissionUse{}, p.uses...), LeftOut: p.leftOut}, nil
}
