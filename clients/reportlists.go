package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// The lists of a report are not decoded beyond the number of elements that they may have: a few
// bytes would take a hundred times the memory.
type (
	queueReports    []QueueReport
	reportedRecords []ReportedRecord
	waitingKeys     []uint64
	eventAdds       []uint64
	eventLater      []time.Time
)

// UnmarshalJSON implements json.Unmarshaler.
func (l *queueReports) UnmarshalJSON(data []byte) (err error) {
	*l, err = decodeObjects[QueueReport](data, maxReportControllers, "controllers")
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *reportedRecords) UnmarshalJSON(data []byte) (err error) {
	*l, err = decodeObjects[ReportedRecord](data, maxReportRecords, "records")
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *waitingKeys) UnmarshalJSON(data []byte) (err error) {
	*l, err = decodeScalars[uint64](data, MaxReportWaiting, "waiting keys of a controller")
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *eventAdds) UnmarshalJSON(data []byte) (err error) {
	*l, err = decodeScalars[uint64](data, maxEventAdds, "adds of an event")
	return err
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *eventLater) UnmarshalJSON(data []byte) (err error) {
	*l, err = decodeScalars[time.Time](data, maxEventLater, "later ones of an event")
	return err
}

// decodeObjects decodes a list of at most that many objects.
func decodeObjects[T any](data []byte, most int, what string) (list []T, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	switch t, err := d.Token(); {
	case err != nil || t == nil:
		return nil, err
	case t != json.Delim('['):
		return nil, fmt.Errorf("%s: a list is expected", what)
	}
	for d.More() {
		if len(list) == most {
			return nil, fmt.Errorf("more than %d %s: at most %d can be reported at once", most, what, most)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// decodeScalars decodes a list of at most that many elements, none of which has a comma.
func decodeScalars[T any](data []byte, most int, what string) (list []T, err error) {
	if n := bytes.Count(data, []byte(",")) + 1; n > most {
		return nil, fmt.Errorf("%d %s: at most %d can be reported", n, what, most)
	}
	return list, json.Unmarshal(data, &list)
}
