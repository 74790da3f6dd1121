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
	nodeIPRange = netip.MustParsePrefix("172.16.0.0/12")
	podIPRange  = netip.MustParsePrefix("100.64.0.0/10")
)

// notLiveSuffix ends the error that a node is not alive.
const notLiveSuffix = "has gone or has failed"

// podRegistry is what the fleet remembers of the simulated nodes and of every bound
// pod: no more than it must, for there are many.
type podRegistry struct {
	shape    nodeShape
	now      func() time.Time
	checkPod func(*corev1.Pod) error // what else may be wrong with a pod; nil = nothing

	mu         sync.Mutex
	nodes      map[string]*nodeEntry
	pods       map[types.UID]*podEntry
	podsByNode map[string]map[types.UID]*podEntry // also of nodes that are not simulated
	loads      map[string]*nodeLoad               // by node
	podIPPools map[netip.Prefix]*addressPool      // by pod CIDR
	nodeIPPool *addressPool                       // nodes' own addresses
}

type nodeEntry struct {
	node *corev1.Node
	live bool // simulated, and not failed
	addr netip.Addr
}

func newPodRegistry(s nodeShape, now func() time.Time) *podRegistry {
	return &podRegistry{
		shape:      s,
		now:        now,
		nodes:      map[string]*nodeEntry{},
		pods:       map[types.UID]*podEntry{},
		podsByNode: map[string]map[types.UID]*podEntry{},
		loads:      map[string]*nodeLoad{},
		podIPPools: map[netip.Prefix]*addressPool{},
		nodeIPPool: newAddressPool(nodeIPRange),
	}
}

// updateNode takes in the newest state of a node and returns whether it came to
// life or was alive before, and what is due of it.
func (l *podRegistry) updateNode(node *corev1.Node) (was, is bool, what dueStage) {
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
		l.nodeIPPool.release(e.addr)
		e.addr = own[0]
		l.nodeIPPool.reserve(e.addr)
	}
	if !e.live {
		return was, false, dueStage{}
	}
	if !e.addr.IsValid() {
		e.addr, _ = l.nodeIPPool.allocate() // of a million: never without
	}
	return was, true, nextNodeStage(l.shape, node, e.addr, l.now())
}

func (l *podRegistry) deleteNode(name string) (was bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[name]
	if e == nil {
		return false
	}
	l.nodeIPPool.release(e.addr)
	delete(l.nodes, name)
	return e.live
}

// nodeNames are the nodes that are known.
func (l *podRegistry) nodeNames() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.nodes))
	for name := range l.nodes {
		names = append(names, name)
	}
	return names
}

// allocateNodeIP returns an address for a node that is about to be made.
func (l *podRegistry) allocateNodeIP() netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	addr, _ := l.nodeIPPool.allocate()
	return addr
}

func (l *podRegistry) releaseNodeIP(addr netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nodeIPPool.release(addr)
}

// liveNode is a node as it was last seen, for what is due of it.
func (l *podRegistry) liveNode(name string) (*corev1.Node, netip.Addr, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.nodes[name]
	if e == nil || !e.live {
		return nil, netip.Addr{}, fmt.Errorf("node %s "+notLiveSuffix, name)
	}
	return e.node, e.addr, nil
}

// lastSeenNode is a node as it was last seen, alive or not; nil if it is not known.
func (l *podRegistry) lastSeenNode(name string) *corev1.Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.nodes[name]; e != nil {
		return e.node
	}
	return nil
}

// nodeIPs are the addresses of a node; none if it is not simulated.
func (l *podRegistry) nodeIPs(name string) []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.nodes[name].nodeIPs()
}

func (e *nodeEntry) nodeIPs() []netip.Addr {
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
