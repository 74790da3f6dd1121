package secretmask

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestReplaceLeavesNoValue(t *testing.T) {
	const annotation = `"kubectl.kubernetes.io/last-applied-configuration"`
	for secret, want := range map[string]string{
		`{"data":{"a":"aHVudGVyMg==","b":"hunter2","n":null},"type":"Opaque"}`: `{"data":{"a":"a true 7","b":"b true 7","n":null},"type":"Opaque"}`,
		`{"stringData":{"a":"aHVudGVyMg==","l":["hunter2"],"n":1}}`:            `{"stringData":{"a":"a false 12","l":"l false 11","n":"n false 1"}}`,
		`{"data":["hunter2"],"stringData":"hunter2","kind":"Secret"}`:          `{"kind":"Secret"}`,
		`{"metadata":{"annotations":{"a":"b",` + annotation + `:"hunter2"}}}`:  `{"metadata":{"annotations":{"a":"b",` + annotation + `:"kubectl.kubernetes.io/last-applied-configuration false 7"}}}`,
		`{"metadata":{"annotations":"hunter2","name":"a"}}`:                    `{"metadata":{"name":"a"}}`,
		`{"metadata":["hunter2"]}`:                                             `{}`,
	} {
		var object map[string]any
		if err := json.Unmarshal([]byte(secret), &object); err != nil {
			t.Fatal(err)
		}
		Replace(object, func(v Value) string { return fmt.Sprintf("%s %t %d", v.Name, v.Encoded, v.Len()) })
		if got, err := json.Marshal(object); err != nil || string(got) != want {
			t.Errorf("%s: got %s, %v, want %s", secret, got, err, want)
		}
	}
}
