package procstat

import (
	"testing"
	"time"
)

func TestSinceBoot(t *testing.T) {
	const rest = " S 1 4711 4711 0 -1 4194560 100 0 0 0 5 3 0 0 20 0 12 0 "
	tests := []struct {
		stat string
		want time.Duration
		ok   bool
	}{
		{"4711 (ctrlplane)" + rest + "98765 1000 200", 987650 * time.Millisecond, true},
		{"4711 (a ) b)" + rest + "1 1000 200", 10 * time.Millisecond, true},
		{"4711 (ctrlplane) S 1 4711", 0, false},
		{"4711 (ctrlplane)" + rest + "soon 1000", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		got, err := sinceBoot([]byte(tt.stat))
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%q: got %v, %v, want %v", tt.stat, got, err, tt.want)
		}
	}
}
