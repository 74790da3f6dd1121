package main

import "testing"

func TestSummarize(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   summary
	}{
		{"one", []float64{3}, summary{3, 3, 3}},
		{"odd", []float64{9, 1, 2}, summary{2, 1, 9}},
		{"even", []float64{4, 1, 3, 2}, summary{2.5, 1, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := tt.values[0]
			if got := summarize(tt.values); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			if tt.values[0] != before {
				t.Error("summarize reordered the values")
			}
		})
	}
}

func TestOverlaps(t *testing.T) {
	s := summary{median: 2, min: 1, max: 3}
	tests := []struct {
		other summary
		want  bool
	}{
		{summary{2, 2, 2}, true},
		{summary{4, 3, 5}, true},
		{summary{4, 3.1, 5}, false},
		{summary{0.5, 0.1, 0.9}, false},
		{summary{2, 0, 9}, true},
	}
	for _, tt := range tests {
		if got := s.overlaps(tt.other); got != tt.want {
			t.Errorf("%+v: got %v, want %v", tt.other, got, tt.want)
		}
		if got := tt.other.overlaps(s); got != tt.want {
			t.Errorf("%+v, the other way round: got %v, want %v", tt.other, got, tt.want)
		}
	}
}

func TestFormatFigure(t *testing.T) {
	tests := map[float64]string{
		0:       "0.000",
		0.0424:  "0.042",
		0.9994:  "0.999",
		0.9996:  "1.00",
		3.456:   "3.46",
		9.996:   "10.0",
		61.54:   "61.5",
		99.96:   "100",
		427.4:   "427",
		12345.6: "12346",
	}
	for v, want := range tests {
		if got := formatFigure(v); got != want {
			t.Errorf("figure(%v) = %q, want %q", v, got, want)
		}
	}
}
