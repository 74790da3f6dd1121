package nodes

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// The ranges of addresses that no API object names: of nodes, and of the pods
// of nodes that have no pod CIDR (yet).
var (
	nodeRange = netip.MustParsePrefix("172.16.0.0/12")
	podRange  = netip.MustParsePrefix("100.64.0.0/10")
)

// gone ends the error that a node is not alive.
const gone = "has gone or has failed"

// ledger is what the fleet remembers of the simulated nodes and of every bound
// pod: no more than it must, for there are many.
type ledger struct {
	shape shape
	now   func() time.Time
	check func(*corev1.Pod) error // what else may be wrong with a pod; nil = nothing

	mu     sync.Mutex
	nodes  map[string]*nodeEntry
	pods   map[types.UID]*podEntry
	onNode map[string]map[types.UID]*podEntry // also of nodes that are not simulated
	loads  map[string]*load                   // by node
	pools  map[netip.Prefix]*pool             // by pod CIDR
	hosts  *pool                              // nodes' own addresses
}

type nodeEntry struct {
	node *corev1.Node
	live bool // simulated, and not failed
	addr netip.Addr
}

func newLedger(s shape, now func() time.Time) *ledger {
	return &ledger{
		shape:  s,
		now:    now,
		nodes:  map[string]*nodeEntry{},
		pods:   map[types.UID]*podEntry{},
		onNode: map[string]map[types.UID]*podEntry{},
		loads:  map[string]*load{},
		pools:  map[netip.Prefix]*pool{},
		hosts:  newPool(nodeRange),
	}
}

// seeNode takes in the newest state of a node and returns whether it came to
// life or was alive before, and what is due of it.
func (l *ledger) seeNode(node *corev1.Node) (was, is bool, what due) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[node.Name]
	if e == nil {
		e = &nodeEntry{}
		l.nodes[node.Name] = e
	}
	was = e.live && e.node.UID == node.UID
	e.node, e.live = node, annotations.IsLive(node)
	if own := nodeAddresses(node); len(own) > 0 && own[0] != e.addr {
		l.hosts.free(e.addr)
		e.addr = own[0]
		l.hosts.mark(e.addr)
	}
	if !e.live {
		return was, false, due{}
	}
	if !e.addr.IsValid() {
		e.addr, _ = l.hosts.take() // of a million: never without
	}
	return was, true, nodeDue(l.shape, node, e.addr, l.now())
}

func (l *ledger) forgetNode(name string) (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[name]
	if e == nil {
		return false
	}
	l.hosts.free(e.addr)
	delete(l.nodes, name)
	return e.live
}

// nodeNames are the nodes that are known.
func (l *ledger) nodeNames() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.nodes))
	for name := range l.nodes {
		names = append(names, name)
	}
	return names
}

// takeHost returns an address for a node that is about to be made.
func (l *ledger) takeHost() netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, _ := l.hosts.take()
	return addr
}

func (l *ledger) freeHost(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hosts.free(addr)
}

// liveNode is a node as it was last seen, for what is due of it.
func (l *ledger) liveNode(name string) (*corev1.Node, netip.Addr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[name]
	if e == nil || !e.live {
		return nil, netip.Addr{}, fmt.Errorf("node %s "+gone, name)
	}
	return e.node, e.addr, nil
}

// lastNode is a node as it was last seen, alive or not; nil if it is not known.
func (l *ledger) lastNode(name string) *corev1.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.nodes[name]; e != nil {
		return e.node
	}
	return nil
}

// hostIPs are the addresses of a node; none if it is not simulated.
func (l *ledger) hostIPs(name string) []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[name].hostIPs()
}

func (e *nodeEntry) hostIPs() []netip.Addr {
	if e == nil {
		return nil
	}
	if own := nodeAddresses(e.node); len(own) > 0 {
		return own
	}
	if !e.addr.IsValid() {
		return nil
	}
	return []netip.Addr{e.addr}
}
