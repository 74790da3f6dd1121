package scrape

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"

	"github.com/ctrlplane/ctrlplane/observe"
)

func ptr[T any](v T) *T { return &v }

func TestQuantiles(t *testing.T) {
	bounds := []float64{0.01, 0.1, 1}
	for _, tt := range []struct {
		name string
		h    histogram
		want observe.Quantiles
	}{
		{"none", histogram{bounds: bounds, below: []float64{0, 0, 0}}, observe.Quantiles{}},
		{"interpolated in the first bucket", histogram{bounds, []float64{100, 100, 100}, 100, 0.6},
			observe.Quantiles{Count: 100, Sum: 600 * time.Millisecond, P50: 5 * time.Millisecond, P99: 9900 * time.Microsecond, Max: 10 * time.Millisecond}},
		{"interpolated in the second", histogram{bounds, []float64{0, 100, 100}, 100, 5},
			observe.Quantiles{Count: 100, Sum: 5 * time.Second, P50: 55 * time.Millisecond, P99: 99100 * time.Microsecond, Max: 100 * time.Millisecond}},
		{"an empty bucket between", histogram{bounds, []float64{99, 99, 100}, 100, 0.9},
			observe.Quantiles{Count: 100, Sum: 900 * time.Millisecond, P50: 5050505 * time.Nanosecond, P99: 10 * time.Millisecond, Max: 900 * time.Millisecond}},
		{"one is the sum", histogram{bounds, []float64{0, 0, 1}, 1, 0.25},
			observe.Quantiles{Count: 1, Sum: 250 * time.Millisecond, P50: 250 * time.Millisecond, P99: 250 * time.Millisecond, Max: 250 * time.Millisecond}},
		{"beyond the last bound", histogram{bounds, []float64{0, 0, 1}, 3, 9.2},
			observe.Quantiles{Count: 3, Sum: 9200 * time.Millisecond, P50: time.Second, P99: time.Second, Max: 8100 * time.Millisecond}},
		{"no buckets", histogram{count: 2, sum: 3},
			observe.Quantiles{Count: 2, Sum: 3 * time.Second, Max: 3 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.h.quantiles()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHistogramSub(t *testing.T) {
	h := histogram{[]float64{1, 2}, []float64{3, 7}, 9, 12}
	for _, tt := range []struct {
		name    string
		o, want histogram
	}{
		{"nothing", histogram{}, h},
		{"less", histogram{[]float64{1, 2}, []float64{1, 2}, 3, 4}, histogram{[]float64{1, 2}, []float64{2, 5}, 6, 8}},
		{"more", histogram{[]float64{1, 2}, []float64{4, 8}, 10, 13}, histogram{[]float64{1, 2}, []float64{0, 0}, 0, 0}},
		{"other buckets", histogram{[]float64{5}, []float64{1}, 3, 4}, histogram{count: 6, sum: 8}},
	} {
		if diff := cmp.Diff(tt.want, h.subtract(tt.o), cmp.AllowUnexported(histogram{})); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestHistogramAdd(t *testing.T) {
	h := histogram{[]float64{1}, []float64{2}, 3, 4}
	for _, tt := range []struct{ a, b, want histogram }{
		{h, histogram{}, h},
		{histogram{}, h, h},
		{h, h, histogram{[]float64{1}, []float64{4}, 6, 8}},
	} {
		if diff := cmp.Diff(tt.want, tt.a.add(tt.b), cmp.AllowUnexported(histogram{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestNewHistogram(t *testing.T) {
	bucket := func(bound float64, count uint64) *dto.Bucket {
		return &dto.Bucket{UpperBound: &bound, CumulativeCount: &count}
	}
	got := newHistogram(&dto.Histogram{
		SampleCount: ptr(uint64(4)), SampleSum: ptr(math.NaN()),
		Bucket: []*dto.Bucket{bucket(1, 3), bucket(math.Inf(1), 4), bucket(0.1, 2), bucket(math.NaN(), 1)},
	})
	want := histogram{bounds: []float64{0.1, 1}, below: []float64{2, 3}, count: 4}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(histogram{})); diff != "" {
		t.Error(diff)
	}
	if got := newHistogram(nil); got.count != 0 {
		t.Errorf("got %+v, want an empty histogram", got)
	}
}

func TestNumberConversions(t *testing.T) {
	for v, want := range map[float64]int64{0: 0, 1.9: 1, math.MaxFloat64: 1 << 53, -1: 0} {
		if got := toCount(v); got != want {
			t.Errorf("toCount(%v) = %d, want %d", v, got, want)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -3} {
		if got := nonNegative(v); got != 0 {
			t.Errorf("nonNegative(%v) = %v, want 0", v, got)
		}
	}
	if got := toDuration(math.MaxFloat64); got <= 0 {
		t.Errorf("toDuration(MaxFloat64) = %d, want more than 0", got)
	}
}
