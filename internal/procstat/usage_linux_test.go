package procstat

import (
	"os"
	"testing"
)

// The observer measures once a second, also while nothing else happens.
func TestMeasureIsCheap(t *testing.T) {
	m := NewMeter()
	allocations := testing.AllocsPerRun(100, func() {
		if _, err := m.Measure(); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 20 {
		t.Errorf("a measurement makes %v allocations", allocations)
	}
}

func TestResidentBytes(t *testing.T) {
	for _, tt := range []struct {
		statm string
		pages int64
		ok    bool
	}{
		{"5000 1234 300 20 0 700 0\n", 1234, true},
		{"5000\n", 0, false},
		{"5000 many 300\n", 0, false},
		{"", 0, false},
	} {
		got, err := residentBytes([]byte(tt.statm))
		if got != tt.pages*int64(os.Getpagesize()) || (err == nil) != tt.ok {
			t.Errorf("%q: got %d, %v, want %d pages", tt.statm, got, err, tt.pages)
		}
	}
}
