package shell

import (
	"strconv"
	"strings"
)

// ansiC expands the escapes of $'…'.
func ansiC(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] != '\\' || len(s) == 1 {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		text, n, _ := escape(s, false)
		b.WriteString(text)
		s = s[n:]
	}
	text, _, _ := strings.Cut(b.String(), "\x00")
	return text
}

// escape expands the escape sequence that s begins with and returns how long it
// is; stop is \c. With echo, octal numbers begin with 0.
func escape(s string, echo bool) (text string, n int, stop bool) {
	simple := map[byte]string{'a': "\a", 'b': "\b", 'e': "\x1b", 'E': "\x1b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\\': "\\", '\'': "'", '"': `"`, '?': "?"}
	c := s[1]
	if text, ok := simple[c]; ok && !(echo && strings.IndexByte(`'"?`, c) >= 0) {
		return text, 2, false
	}
	digits := func(from, most, base int) (uint64, int) {
		end := from
		for end < len(s) && end < from+most {
			if _, err := strconv.ParseUint(s[end:end+1], base, 8); err != nil {
				break
			}
			end++
		}
		v, _ := strconv.ParseUint(s[from:end], base, 32)
		return v, end
	}
	switch {
	case c == 'c' && echo:
		return "", 2, true
	case c == 'x':
		if v, end := digits(2, 2, 16); end > 2 {
			return string([]byte{byte(v)}), end, false
		}
	case c == 'u' || c == 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		if v, end := digits(2, most, 16); end > 2 {
			return string(rune(v)), end, false
		}
	case echo && c == '0':
		v, end := digits(2, 3, 8)
		return string([]byte{byte(v)}), end, false
	case !echo && c >= '0' && c <= '7':
		v, end := digits(1, 3, 8)
		return string([]byte{byte(v)}), end, false
	}
	return s[:2], 2, false
}

// quote quotes a string for the shell.
func quote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-./:=@%+,", r))
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
