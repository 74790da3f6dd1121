package yamltext

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
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
		requireKept(t, "a"+string(r)+"b")
	}
}

// requireKept writes a string as a value and as a key, and reads it back.
func requireKept(t *testing.T, want string) {
	t.Helper()
	text, err := Marshal(map[string]string{"key": want, want: ""})
	if err != nil {
		t.Errorf("%q: %v", want, err)
		return
	}
	var got map[string]string
	if err := yaml.Unmarshal(text, &got); err != nil || got["key"] != want {
		t.Errorf("%q: %q is read as %q, %v", want, text, got, err)
	}
	if _, ok := got[want]; !ok {
		t.Errorf("%q: %q is read without the key", want, text)
	}
	if i := bytes.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }); i >= 0 {
		t.Errorf("%q: %q has a control or formatting character", want, text)
	}
}

// TestMarshalKeepsText writes texts of several lines, long ones, and ones that look like marks.
func TestMarshalKeepsText(t *testing.T) {
	long := strings.Repeat("word \u202e\u2066 ", 20)
	for _, text := range []string{
		"one\ntwo\u202e\n", "- \u200d: '\"", long, long + "\n" + long,
		"\u202e" + `\U0010FFFF\U0010202E`, "\u202e\U0010ffff\U0010202e\U0010ffff", "\u202e U0010FFFF U0010FFFFU0010FFFF", `\U0010FFFF\U0010202E`,
		"one\u2028two\n", `\u2028\\u2029` + "\u2028\u2029", "U0010FFFF\u2029", `\` + "\u2028",
	} {
		requireKept(t, text)
	}
}

func TestFromJSONKeepsKeysAndOrder(t *testing.T) {
	text, err := FromJSON([]byte("{\"b\u007f\": 1, \"a\": [\"\u009b31m\", \"\u202ec\"]}"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "a:\n- \"\\x9B31m\"\n- \"\\u202Ec\"\n\"b\\x7F\": 1\n"; string(text) != want {
		t.Errorf("got %q, want %q", text, want)
	}
}
