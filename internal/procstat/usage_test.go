package procstat

import "testing"

func TestMeasure(t *testing.T) {
	u, err := NewMeter().Measure()
	if err != nil {
		t.Fatal(err)
	}
	if u.Memory < 1<<20 || u.Memory > 1<<40 || u.CPU < 0 {
		t.Errorf("got %d bytes and %v of CPU", u.Memory, u.CPU)
	}
}
