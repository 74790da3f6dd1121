package nodes

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/sim/container"
)

const (
	maxNotRun     = 1000 // objects that NotRun keeps …
	maxNotRunEach = 16   // … and for each, what its Pods have not run
	maxProgram    = 100  // bytes of a command line
)

// NotRun records what Pods have not run though their containers have started: programs that are not simulated, and probes
// that were not made. It outlives a Fleet, as a restore starts another one, and the Pods. Its zero value is ready for use; a
// nil NotRun records nothing.
type NotRun struct {
	mu      sync.Mutex
	noted   map[notedRun]bool
	objects map[NotRunObject]map[string]bool // what its Pods have not run
	more    bool                             // there are more objects or programs
}

// NotRunObject is a Pod, or what controls it: the Deployment in place of its ReplicaSet.
type NotRunObject struct{ Kind, Namespace, Name string }

// NotRunPrograms is what the Pods of an object have not run.
type NotRunPrograms struct {
	NotRunObject
	// Programs are command lines, "image NAME" for the program of an image, and such as "readiness probe".
	Programs []string
}

// notedRun tells whether the same was noted before, without the texts: most Pods are of a controller that has others.
type notedRun struct {
	owner            types.UID
	container, image string
	ran              bool
	command          uint64 // its hash: Pods of one owner may differ, as those of a StatefulSet before and after an update do
}

// commandSeed is that of the hashes of commands.
var commandSeed = maphash.MakeSeed()

// commandHash tells commands apart that a controller gives to the same container of its Pods, and revisions of its template.
func (r *containerRun) commandHash() uint64 {
	var hash maphash.Hash
	hash.SetSeed(commandSeed)
	revision := r.pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	for _, word := range slices.Concat([]string{revision}, r.container.Command, r.container.Args) {
		maphash.WriteComparable(&hash, word)
	}
	return hash.Sum64()
}

// List returns what was not run, sorted, and whether there is more than what was kept.
func (n *NotRun) List() (list []NotRunPrograms, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for object, programs := range n.objects {
		list = append(list, NotRunPrograms{object, slices.Sorted(maps.Keys(programs))})
	}
	slices.SortFunc(list, func(a, b NotRunPrograms) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list, n.more
}

// note notes what a started run of a container does not do. ran says that its program runs.
func (n *NotRun) note(r *containerRun, ran bool, number int32) {
	if n == nil || r.kind == ephemeralContainer {
		return
	}
	seen := notedRun{r.pod.UID, r.container.Name, r.container.Image, ran, r.commandHash()}
	if owner := metav1.GetControllerOfNoCopy(r.pod); owner != nil {
		seen.owner = owner.UID
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.noted[seen] {
		return
	}
	if n.noted == nil || len(n.noted) >= maxNotRun*maxNotRunEach {
		n.noted = map[notedRun]bool{}
	}
	n.noted[seen] = true
	for _, program := range r.notRun(ran, number) {
		n.add(notRunObject(r.pod), program)
	}
}

// add needs the lock.
func (n *NotRun) add(object NotRunObject, program string) {
	programs := n.objects[object]
	switch {
	case programs == nil && len(n.objects) == maxNotRun:
		n.more = true
		return
	case n.objects == nil:
		n.objects = map[NotRunObject]map[string]bool{}
	}
	if programs == nil {
		programs = map[string]bool{}
		n.objects[object] = programs
	}
	if len(programs) < maxNotRunEach {
		programs[program] = true
	} else if !programs[program] {
		n.more = true
	}
}

// notRun names the program of a run that does not run, or the probes that are not made although it does.
func (r *containerRun) notRun(ran bool, number int32) []string {
	if ran {
		return container.ProbesNotMade(r.pod, r.container)
	}
	args := r.behavior.commandOf(r.container, r.kind, number)
	if len(args) == 0 && len(r.container.Command) > 0 { // annotations say how it ends
		args = slices.Concat(r.container.Command, r.container.Args)
	}
	switch {
	case len(args) > 0:
		return []string{words.Shorten(strings.Join(args, " "), maxProgram)}
	case onlyWaits(r.container):
		return nil // what the image does is known
	}
	return []string{words.Shorten("image "+r.container.Image, maxProgram)}
}

// notRunObject returns what controls a Pod, or the Pod. The label says that the ReplicaSet is one of a Deployment, which
// also names it.
func notRunObject(pod *corev1.Pod) NotRunObject {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return NotRunObject{"Pod", pod.Namespace, pod.Name}
	}
	hash := pod.Labels["pod-template-hash"]
	if name, ok := strings.CutSuffix(owner.Name, "-"+hash); ok && hash != "" && owner.Kind == "ReplicaSet" {
		return NotRunObject{"Deployment", pod.Namespace, name}
	}
	return NotRunObject{owner.Kind, pod.Namespace, owner.Name}
}
