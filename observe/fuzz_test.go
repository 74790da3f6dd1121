package observe

import (
	"encoding/json"
	"testing"
)

// FuzzRecord reads any line as a record, as readers of events.jsonl do: what is read
// and written again is read as the same.
func FuzzRecord(f *testing.F) {
	for _, seed := range []string{
		`{"seq":1,"time":"2026-07-01T12:00:01.234Z","kind":"bootStep","step":"etcd","tookNanos":41000000}`,
		`{"seq":5,"time":"2026-07-01T12:00:01Z","kind":"called","verb":"update","object":{"resource":"pods"},"status":409,"conflict":true}`,
		`{"seq":6,"time":"2026-07-01T12:00:01Z","kind":"synced","queue":"a","id":77,"key":"b","keyBasis":"log","sure":true}`,
		`{"seq":7,"time":"2026-07-01T12:00:01Z","kind":"delivered","change":"added","queues":["a"],"adds":[1],"later":[{"queue":"a"}]}`,
		`{"kind":"logged","level":-2,"attrs":[{"key":"a","value":"b"}]}`, `{"kind":"x"}`, `[]`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var r Record
		if err := json.Unmarshal(line, &r); err != nil || r.Event == nil {
			return
		}
		first, err := json.Marshal(r)
		if err != nil {
			return // a time that JSON cannot hold
		}
		var again Record
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("%s was written and cannot be read: %v", first, err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(first) != string(second) {
			t.Errorf("%s became %s, %v", first, second, err)
		}
	})
}
