package scrape

import (
	"cmp"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/ctrlplane/ctrlplane/observe"
)

// histogram is a histogram of durations in seconds. Its zero value is empty.
type histogram struct {
	bounds []float64 // upper bounds, ascending, without infinity
	below  []float64 // per bound, the number of values up to it
	count  float64
	sum    float64
}

func newHistogram(from *dto.Histogram) histogram {
	h := histogram{count: nonNegative(sampleCount(from)), sum: nonNegative(from.GetSampleSum())}
	buckets := slices.Clone(from.GetBucket())
	slices.SortFunc(buckets, func(a, b *dto.Bucket) int { return cmp.Compare(a.GetUpperBound(), b.GetUpperBound()) })
	for _, b := range buckets {
		if bound := b.GetUpperBound(); bound >= 0 && !math.IsInf(bound, 1) {
			h.bounds = append(h.bounds, bound)
			h.below = append(h.below, nonNegative(float64(b.GetCumulativeCount())))
		}
	}
	return h
}

// sampleCount returns the number of values in a histogram. In the text format any number may be given.
func sampleCount(h *dto.Histogram) float64 {
	if n := h.GetSampleCountFloat(); n != 0 {
		return n
	}
	return float64(h.GetSampleCount())
}

func (h histogram) add(o histogram) histogram { return h.combine(o, 1) }

// subtract returns the values since o. Negative differences become zero.
func (h histogram) subtract(o histogram) histogram { return h.combine(o, -1) }

func (h histogram) combine(o histogram, sign float64) histogram {
	switch {
	case o.count == 0:
		return h
	case h.count == 0 && sign > 0:
		return o
	}
	result := histogram{count: max(0, h.count+sign*o.count), sum: max(0, h.sum+sign*o.sum)}
	if slices.Equal(h.bounds, o.bounds) { // otherwise the buckets cannot be combined
		result.bounds = h.bounds
		result.below = make([]float64, len(h.below))
		for i := range h.below {
			result.below[i] = max(0, h.below[i]+sign*o.below[i])
		}
	}
	return result
}

func (h histogram) quantiles() observe.Quantiles {
	if h.count == 0 {
		return observe.Quantiles{}
	}
	most := h.maxEstimate()
	return observe.Quantiles{
		Count: toCount(h.count),
		Sum:   toDuration(h.sum),
		P50:   toDuration(min(h.quantile(0.50), most)),
		P99:   toDuration(min(h.quantile(0.99), most)),
		Max:   toDuration(most),
	}
}

// quantile interpolates linearly within the bucket of the quantile. Values beyond
// the last bound count as that bound.
func (h histogram) quantile(q float64) float64 {
	rank := q * h.count
	lower, before := 0.0, 0.0
	for i, upper := range h.bounds {
		if below := h.below[i]; below >= rank && below > before {
			return lower + (upper-lower)*(rank-before)/(below-before)
		}
		lower, before = upper, max(before, h.below[i])
	}
	return lower
}

// maxEstimate returns an upper bound for the longest duration: the bound of its
// bucket, or what remains of the sum if all others are as short as their buckets
// allow.
func (h histogram) maxEstimate() float64 {
	left := h.sum
	lower, before := 0.0, 0.0
	least, most := 0.0, 0.0 // bounds of the last bucket that is not empty
	for i := 0; i <= len(h.bounds); i++ {
		upper, below := math.Inf(1), h.count
		if i < len(h.bounds) {
			upper, below = h.bounds[i], h.below[i]
		}
		if n := below - before; n > 0 {
			left -= n * lower
			least, most = lower, upper
			before = below
		}
		lower = upper
	}
	return max(least, min(most, left+least))
}

// nonNegative returns v if it is a finite number of at least 0, otherwise 0.
func nonNegative(v float64) float64 {
	if v >= 0 && !math.IsInf(v, 1) {
		return v
	}
	return 0
}

// toCount converts v to an integer, at most 1<<53.
func toCount(v float64) int64 { return int64(max(0, min(v, 1<<53))) }

func toDuration(v float64) time.Duration {
	return time.Duration(math.Round(min(v*1e9, 1<<62)))
}
