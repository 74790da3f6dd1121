package testutil

import (
	"encoding/json"
	"testing"
)

// DecodeJSON decodes a text into what a pointer refers to.
func DecodeJSON[C string | []byte](t testing.TB, text C, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
