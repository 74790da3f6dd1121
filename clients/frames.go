package clients

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unique"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// keptFrames is the number of frames whose events are kept for other watches, and maxKeptFrame the
	// size of the largest one.
	keptFrames, maxKeptFrame = 256, 16 << 10
	// maxEventMentions is the number of names in an object that an event remembers.
	maxEventMentions = 128
)

// frameParser reads an event of a watch.
type frameParser func(frame []byte) recording.WatchEvent

// sentEvent is what a frame of a watch says. Watches that were sent the same frame share it.
type sentEvent struct {
	change           observe.Change // "" = it is not about an object, as a bookmark
	initialEventsEnd bool

	kind                          string // "" if the client asks for metadata only
	namespace, name, uid, version string

	owners    []sentOwner
	names     recording.Mentions // in the object
	mentioned objectMentions     // how others name it
	deleting  bool               // the object is marked as deleted
	takenBy   string             // the holder that has taken over the Lease with this version
}

// sentOwner is an owner of the object of an event.
type sentOwner struct {
	uid       string
	mentioned objectMentions
}

// objectMentions are how an object is named: by its key or, within its namespace, by its name.
type objectMentions struct {
	namespace, object string
	key, name         objectMention
}

type objectMention struct {
	recording.Mention
	possible bool
}

func newObjectMentions(namespace, name string) objectMentions {
	m := objectMentions{namespace: namespace, object: name}
	o := observe.Object{Namespace: namespace, Name: name}
	m.key.Mention, m.key.possible = recording.MentionOf(o.Key())
	m.name.Mention, m.name.possible = recording.MentionOf(name)
	return m
}

// isIn reports whether the object is among some names. Each object names its namespace.
func (m *objectMentions) isIn(names *namespacedNames) bool {
	isByKey := m.key.possible && names.Has(m.key.Mention)
	if m.object == names.namespace {
		return m.namespace != "" && isByKey
	}
	return isByKey || m.name.possible && m.namespace == names.namespace && names.Has(m.name.Mention)
}

// frames keeps the events of the last frames: the API server sends each of many watches of the same objects
// the same bytes, and reading them takes longer than to see that.
type frames struct {
	seed maphash.Seed

	mu     sync.Mutex
	byHash map[uint64]*keptFrame
	ring   [keptFrames]*keptFrame
	next   int

	recent atomic.Int64 // events that watches remember beyond keptEvents each
}

type keptFrame struct {
	hash  uint64
	bytes []byte // under the lock of frames
	once  sync.Once
	event *sentEvent
}

func newFrames() *frames { return &frames{seed: maphash.MakeSeed(), byHash: map[uint64]*keptFrame{}} }

// read returns the event in a frame.
func (f *frames) read(parse frameParser, frame []byte) *sentEvent {
	if len(frame) > maxKeptFrame {
		return newSentEvent(parse(frame), frame)
	}
	k := f.kept(frame)
	k.once.Do(func() { k.event = newSentEvent(parse(frame), frame) })
	return k.event
}

// kept returns what all watches with this frame share.
func (f *frames) kept(frame []byte) *keptFrame {
	hash := maphash.Bytes(f.seed, frame)
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := f.byHash[hash]; k != nil && bytes.Equal(k.bytes, frame) {
		return k
	}
	var room []byte
	if oldest := f.ring[f.next]; oldest != nil {
		room = oldest.bytes[:0]
		if f.byHash[oldest.hash] == oldest {
			delete(f.byHash, oldest.hash)
		}
	}
	k := &keptFrame{hash: hash, bytes: append(room, frame...)}
	f.byHash[hash], f.ring[f.next] = k, k
	f.next = (f.next + 1) % keptFrames
	return k
}

var changes = map[string]observe.Change{"ADDED": observe.Added, "MODIFIED": observe.Updated, "DELETED": observe.Deleted}

func newSentEvent(e recording.WatchEvent, frame []byte) *sentEvent {
	m := &e.Object.Metadata
	s := &sentEvent{
		change: changes[e.Type], initialEventsEnd: e.Object.InitialEventsEnd,
		kind: shared(e.Object.ObjectKind()), namespace: shared(m.Namespace), deleting: m.Deleting,
	}
	if s.change == "" {
		return s
	}
	// Many events are kept, and many texts are many objects in memory.
	texts := append(make([]string, 0, 16), m.Name, m.UID, m.ResourceVersion)
	for _, owner := range m.OwnerReferences {
		texts = append(texts, owner.UID, owner.Name)
	}
	joinInPlace(texts)
	s.name, s.uid, s.version = texts[0], texts[1], texts[2]
	for i := 3; i < len(texts); i += 2 {
		s.owners = append(s.owners, sentOwner{texts[i], newObjectMentions(s.namespace, texts[i+1])})
	}
	s.names = recording.MentionsIn(frame[:min(len(frame), maxSearchedBody)], maxEventMentions)
	s.mentioned = newObjectMentions(s.namespace, s.name)
	if s.change == observe.Updated && s.kind == "Lease" {
		s.takenBy = words.Cut(recording.ParseTaker(e.Encoded), maxName)
	}
	return s
}

// shared returns a text that equals many others.
func shared(text string) string { return unique.Make(text).Value() }

// joinInPlace makes texts parts of one string.
func joinInPlace(texts []string) {
	all := strings.Join(texts, "")
	for i, text := range texts {
		texts[i], all = all[:len(text)], all[len(text):]
	}
}

// isNamedIn reports whether the event's object is among some names.
func (s *sentEvent) isNamedIn(names *namespacedNames) bool { return s.mentioned.isIn(names) }

// isOwnedByNamed reports whether an owner of the event's object is among some names.
func (s *sentEvent) isOwnedByNamed(names *namespacedNames) bool {
	return slices.ContainsFunc(s.owners, func(o sentOwner) bool { return o.mentioned.isIn(names) })
}

// isOwnedBy reports whether an object with a UID owns the event's object.
func (s *sentEvent) isOwnedBy(uid string) bool {
	return uid != "" && slices.ContainsFunc(s.owners, func(o sentOwner) bool { return o.uid == uid })
}

// isNaming reports whether the event's object names an object. What has an owner does not count: each Pod names containers,
// volumes and a ServiceAccount, which may be called as an unrelated object is.
func (s *sentEvent) isNaming(m *objectMentions) bool {
	return len(s.owners) == 0 && m.isIn(&namespacedNames{s.namespace, s.names})
}
