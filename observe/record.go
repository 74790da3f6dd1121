package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Record is an event with its place in the order of all events. In JSON it is
// one object: seq, time and kind, then the event's own fields.
type Record struct {
	Seq   uint64    // from 1; the order in which events were appended
	Time  time.Time // of the append
	Event Event

	notablePos uint64 // position among the notable ones
}

type recordHeader struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Kind Kind      `json:"kind"`
}

// MarshalJSON writes the record as one flat object.
func (r Record) MarshalJSON() ([]byte, error) {
	if r.Event == nil {
		return nil, fmt.Errorf("observe: record %d has no event", r.Seq)
	}
	first, err := json.Marshal(recordHeader{r.Seq, r.Time, r.Event.Kind()})
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

// UnmarshalJSON reads what MarshalJSON wrote. A kind that is not known is an error.
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
