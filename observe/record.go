package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Record is an event with its position in the order of all events. In JSON it is
// one object: seq, time, kind and whether it failed, followed by the fields of the event.
type Record struct {
	Seq   uint64    // from 1, in the order in which events are appended
	Time  time.Time // when the event was appended
	Event Event

	causalPos  uint64 // position in the ring of records that are not background
	notablePos uint64 // position in the ring of notable records

	idle *idleDelivery // what AlsoTo of the event will be; nil if no other controller can be added
}

type recordHeader struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
	// Failed is written for readers that have no Go: it follows from the event.
	Failed bool `json:"failed,omitempty"`
}

// hasFailed reports whether an event is a call or a sync that has failed.
func hasFailed(e Event) bool {
	switch e := e.(type) {
	case *Called:
		return e.IsFailure()
	case *Synced:
		return e.Failed()
	}
	return false
}

// MarshalJSON writes the record as one flat object.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.Event == nil {
		return nil, fmt.Errorf("observe: record %d has no event", r.Seq)
	}
	first, err := json.Marshal(recordHeader{r.Seq, r.Time, r.Event.Kind(), hasFailed(r.Event)})
	if err != nil {
		return nil, err
	}
	rest, err := json.Marshal(r.Event)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(rest, []byte("{}")) {
		return first, nil
	}
	return append(append(first[:len(first)-1], ','), rest[1:]...), nil
}

// UnmarshalJSON reads the output of MarshalJSON. An unknown kind is an error.
func (r *Record) UnmarshalJSON(data []byte) error {
	var h recordHeader
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	e, err := newEvent(h.Kind)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, e); err != nil {
		return err
	}
	*r = Record{Seq: h.Seq, Time: h.Time, Event: e}
	return nil
}

func newEvent(k Kind) (Event, error) {
	switch k {
	case KindBootStep:
		return new(BootStep), nil
	case KindControllerChanged:
		return new(ControllerChanged), nil
	case KindQueueChanged:
		return new(QueueChanged), nil
	case KindDelivered:
		return new(Delivered), nil
	case KindCalled:
		return new(Called), nil
	case KindSynced:
		return new(Synced), nil
	case KindLogged:
		return new(Logged), nil
	}
	return nil, fmt.Errorf("observe: event of unknown kind %q", k)
}
