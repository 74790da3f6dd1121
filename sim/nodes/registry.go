package nodes

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/container"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// The ranges of addresses that no API object names: for nodes, and for Pods of nodes
// that have no pod CIDR (yet).
var (
	nodeIPRange = netip.MustParsePrefix("172.16.0.0/12")
	podIPRange  = podhttp.PodRange
)

// notLiveSuffix is the end of the error that a node is not live.
const notLiveSuffix = "is gone or has failed"

// podRegistry keeps what the fleet needs to know of the simulated nodes and of every
// bound Pod. There may be very many Pods: it keeps a Pod itself only while something
// is due for it.
type podRegistry struct {
	shape    nodeShape
	now      func() time.Time
	played   *played                 // records what is written
	checkPod func(*corev1.Pod) error // returns what else is wrong with a Pod; may be nil
	commands *container.Runtime      // nil = no commands are run
	notRun   *NotRun

	descriptions *lru.Cache // of the Pods without a command of controllers

	mu         sync.Mutex
	nodes      map[string]*nodeEntry
	pods       map[types.UID]*podEntry
	podsByNode map[string]map[types.UID]*podEntry // includes nodes that are not simulated
	loads      map[string]*nodeLoad               // by node
	podIPPools map[netip.Prefix]*addressPool      // by pod CIDR
	nodeIPPool *addressPool                       // of the addresses of nodes
}

type nodeEntry struct {
	node *corev1.Node
	live bool // simulated, not failed, not terminated
	addr netip.Addr
	stageState
}

func newPodRegistry(s nodeShape, now func() time.Time) *podRegistry {
	return &podRegistry{
		shape:        s,
		descriptions: lru.New(maxDescribed),
		now:          now,
		played:       newPlayed(nil),
		nodes:        map[string]*nodeEntry{},
		pods:         map[types.UID]*podEntry{},
		podsByNode:   map[string]map[types.UID]*podEntry{},
		loads:        map[string]*nodeLoad{},
		podIPPools:   map[netip.Prefix]*addressPool{},
		nodeIPPool:   newAddressPool(nodeIPRange),
	}
}

// updateNode stores the newest state of a node. It returns whether the node was live
// before, whether it is live now, and what is due for it.
func (r *podRegistry) updateNode(node *corev1.Node) (was, is bool, what dueStage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[node.Name]
	if e == nil {
		e = &nodeEntry{}
		r.nodes[node.Name] = e
	}
	if e.node != nil && e.node.UID == node.UID {
		node = followCapacity(e.node, node)
	}
	if was = e.live && e.node.UID == node.UID; !was {
		e.stageState = stageState{}
	}
	e.node, e.live = node, annotations.IsLive(node)
	if own := nodeAddresses(node); len(own) > 0 && own[0] != e.addr {
		r.nodeIPPool.release(e.addr)
		e.addr = own[0]
		r.nodeIPPool.reserve(e.addr)
	}
	if annotations.IsSimulated(node) {
		for _, prefix := range podRanges(node) {
			r.podIPPool(prefix) // Pods that have finished have addresses of it
		}
	}
	if !e.live {
		e.stageState = stageState{}
		return was, false, dueStage{}
	}
	if !e.addr.IsValid() {
		e.addr, _ = r.nodeIPPool.allocate() // there are a million: it never fails
	}
	what = nextNodeStage(r.shape, node, e.addr, r.now())
	r.played.nodes.setDue(node.Name, what, r.now())
	return was, true, what
}

// currentNodeStage is to Nodes what currentPodStage is to Pods.
func (r *podRegistry) currentNodeStage(node *corev1.Node) dueStage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[node.Name].current(node.ResourceVersion)
}

// assignNode is to Nodes what assignPod is to Pods.
func (r *podRegistry) assignNode(node *corev1.Node, what dueStage, isInForce func(*userStage) bool) (play dueStage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	play = r.nodes[node.Name].assign(what, node.ResourceVersion, isInForce)
	if play.user != nil {
		r.played.nodes.setDue(node.Name, play, r.now())
	}
	return play
}

// takeNodeStage is to Nodes what takePodStage is to Pods.
func (r *podRegistry) takeNodeStage(name string, isInForce func(*userStage) bool) *stageRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[name]
	if e == nil || !e.live {
		return nil
	}
	return e.take(e.node, &r.played.nodes, r.now(), isInForce)
}

// dueNodeStage returns what the player is to do for a Node.
func (r *podRegistry) dueNodeStage(name string) dueStage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.nodes[name]; e != nil {
		return e.play
	}
	return dueStage{}
}

func (r *podRegistry) deleteNode(name string) (was bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[name]
	if e == nil {
		return false
	}
	r.nodeIPPool.release(e.addr)
	r.played.nodes.forget(name)
	delete(r.nodes, name)
	if r.commands != nil {
		r.commands.RemoveNode(name)
	}
	return e.live
}

// nodeNames returns the names of the known nodes.
func (r *podRegistry) nodeNames() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.nodes))
	for name := range r.nodes {
		names = append(names, name)
	}
	return names
}

// liveNodes returns the last seen states of the live nodes.
func (r *podRegistry) liveNodes() (list []*corev1.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.nodes {
		if e.live {
			list = append(list, e.node)
		}
	}
	return list
}

// allocateNodeIP returns an address for a node that is about to be created.
func (r *podRegistry) allocateNodeIP() netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	addr, _ := r.nodeIPPool.allocate()
	return addr
}

func (r *podRegistry) releaseNodeIP(addr netip.Addr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodeIPPool.release(addr)
}

// liveNode returns the last seen state of a live node, and its address.
func (r *podRegistry) liveNode(name string) (*corev1.Node, netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.nodes[name]
	if e == nil || !e.live {
		return nil, netip.Addr{}, fmt.Errorf("node %s "+notLiveSuffix, name)
	}
	return e.node, e.addr, nil
}

// lastSeenNode returns the last seen state of a node; nil if it is not known.
func (r *podRegistry) lastSeenNode(name string) *corev1.Node {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.nodes[name]; e != nil {
		return e.node
	}
	return nil
}

// nodeIPs returns the addresses of a node; none if it is not known.
func (r *podRegistry) nodeIPs(name string) []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.nodes[name].nodeIPs()
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
