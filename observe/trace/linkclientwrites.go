package trace

import "github.com/ctrlplane/ctrlplane/observe"

// linkClientWrites links writes of clients to the events on their watches. What a client has found in a list before its first
// watch counts once it has opened one: scripts of users list objects, too.
func (g *graph) linkClientWrites(watching map[string]bool) {
	for _, c := range g.calls {
		e := g.eventBySeq[c.claimedCause]
		if e == nil || !c.byClient || c.causedBy != nil || c.unexplained != nil && !watching[c.Controller] {
			continue
		}
		c.setCause(e, Likely, ByWatch)
	}
}

// watchingClients returns the names of the clients that have opened a watch.
func watchingClients(state observe.Snapshot) map[string]bool {
	watching := map[string]bool{}
	for i := range state.Clients {
		if c := &state.Clients[i]; c.IsWatching() || len(c.Watched) > 0 {
			watching[c.Name] = true
		}
	}
	return watching
}
