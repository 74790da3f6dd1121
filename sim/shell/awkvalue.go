package shell

import (
	"math"
	"strconv"
	"strings"
)

// awkValue is a value: a number, a string, or a string from the input that is a
// number if it looks like one.
type awkValue struct {
	s     string
	n     float64
	isNum bool
	input bool
	unset bool
}

// awkUnset is the value of what was not assigned: the empty string, and 0 where it is compared
// with a number.
var awkUnset = awkValue{unset: true}

func awkNum(n float64) awkValue { return awkValue{n: n, isNum: true} }

func awkStr(s string) awkValue { return awkValue{s: s} }

func (v awkValue) text() string {
	if !v.isNum {
		return v.s
	}
	if v.n == math.Trunc(v.n) && math.Abs(v.n) < 1e16 {
		return strconv.FormatInt(int64(v.n), 10)
	}
	return strconv.FormatFloat(v.n, 'g', 6, 64)
}

func (v awkValue) number() float64 {
	if v.isNum {
		return v.n
	}
	x, _ := leadingFloat(v.s)
	return x
}

// leadingFloat returns the number that a string begins with, and whether it begins with one.
func leadingFloat(s string) (x float64, ok bool) {
	s = strings.TrimLeft(s, " \t\n")
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' || end == 0 && (s[end] == '-' || s[end] == '+') ||
		(s[end]|0x20) == 'e' && end > 0 && end+1 < len(s) && strings.IndexByte("0123456789+-", s[end+1]) >= 0 || (s[end] == '-' || s[end] == '+') && end > 0 && (s[end-1]|0x20) == 'e') {
		end++
	}
	for ; end > 0; end-- {
		if x, err := strconv.ParseFloat(s[:end], 64); err == nil {
			return x, true
		}
	}
	return 0, false
}

// numeric reports whether a value compares as a number.
func (v awkValue) numeric() bool {
	if v.isNum || v.unset {
		return true
	}
	if !v.input {
		return false
	}
	_, err := strconv.ParseFloat(strings.TrimSpace(v.s), 64)
	return err == nil
}

func (v awkValue) truth() bool {
	if v.isNum || v.numeric() {
		return v.number() != 0
	}
	return v.s != ""
}
