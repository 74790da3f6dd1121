package replay

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/observe"
)

// What a line may hold. An element takes as little as two bytes of a line, but some hundred
// in memory.
const (
	maxList     = 4096    // elements of a list of a snapshot
	maxElements = 1 << 17 // elements of all lists of a line
	maxSamples  = 256     // samples of a history; a recorder writes 60
	maxAdds     = 1 << 12 // adds among which the one of a sync may be; a recorder keeps 512
)

// checkElements bounds the elements of all lists of a line, which is valid JSON, and those
// of each list of a snapshot.
func checkElements(line []byte, isSnapshot bool) error {
	var open []byte // the lists and objects that are open
	all, inList := 0, 0
	text := false
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case text && b == '\\':
			i++
		case b == '"':
			text = !text
		case text:
		case b == '[' || b == '{':
			open = append(open, b)
			if len(open) == 2 {
				inList = 0
			}
		case b == ']' || b == '}':
			open = open[:len(open)-1]
		case b == ',' && open[len(open)-1] == '[':
			if all++; all >= maxElements {
				return fmt.Errorf("its lists have more than %d elements: not from a recorder", maxElements)
			}
			if len(open) == 2 {
				inList++
			}
			if isSnapshot && inList >= maxList {
				return fmt.Errorf("a list has more than %d elements: not from a recorder", maxList)
			}
		}
	}
	return nil
}

func checkHistories(queues []observe.Queue) error {
	for i := range queues {
		if n := len(queues[i].History); n > maxSamples {
			return fmt.Errorf("queue %q: it has %d samples, and at most %d are read", queues[i].Name, n, maxSamples)
		}
	}
	return nil
}

// checkRecord checks what others take for granted of a record.
func checkRecord(r *observe.Record) error {
	switch e := r.Event.(type) {
	case *observe.Delivered:
		if len(e.Adds) > len(e.Queues) {
			return fmt.Errorf("it has %d adds to %d queues: not from a recorder", len(e.Adds), len(e.Queues))
		}
	case *observe.Synced:
		if e.LastAdd > 0 && (e.LastAdd < e.Add || e.LastAdd-e.Add >= maxAdds) {
			return fmt.Errorf("its sync follows from one of the adds %d to %d: not from a recorder", e.Add, e.LastAdd)
		}
	}
	return nil
}
