package words

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEscapeJSON(t *testing.T) {
	const text = "a\x1b\x7f\u0085\u009b31m\u200d\u202e\u2066\u2028\ufeff\U000e0001 naïve 日本 👍"
	plain, err := json.MarshalIndent(map[string]string{text: text}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	escaped := EscapeJSON(plain)
	if lines := strings.Split(string(escaped), "\n"); len(lines) != 3 || StripControls(lines[1]) != lines[1] || !strings.Contains(lines[1], "naïve 日本 👍") {
		t.Errorf("%q", escaped)
	}
	var got map[string]string
	if err := json.Unmarshal(escaped, &got); err != nil || got[text] != text {
		t.Errorf("read as %q: %v", got, err)
	}
}
