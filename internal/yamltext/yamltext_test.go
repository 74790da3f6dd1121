package yamltext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// TestMarshalKeepsEveryCharacter writes each character that a string of an object can
// contain, and reads it back.
func TestMarshalKeepsEveryCharacter(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if !utf8.ValidRune(r) || r > 0x3000 && r < 0xfe00 || r > 0x10010 && r < utf8.MaxRune-16 {
			continue // the rest are letters
		}
		want := "a" + string(r) + "b"
		text, err := Marshal(map[string]string{"key": want})
		if err != nil {
			t.Errorf("%U: %v", r, err)
			continue
		}
		var got map[string]string
		if err := yaml.Unmarshal(text, &got); err != nil || got["key"] != want {
			t.Errorf("%U: %q is read as %q, %v", r, text, got["key"], err)
		}
		if strings.ContainsAny(string(text), "\x1b\x07\x7f\u009b") {
			t.Errorf("%U: %q contains a control character", r, text)
		}
	}
}

func TestFromJSONKeepsKeysAndOrder(t *testing.T) {
	text, err := FromJSON([]byte("{\"b\u007f\": 1, \"a\": [\"\u009b31m\"]}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "a:\n- \"\\x9B31m\"\n\"b\\x7F\": 1\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}
