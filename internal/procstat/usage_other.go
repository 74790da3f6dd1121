//go:build !linux

package procstat

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Meter measures this process.
type Meter struct{ registry *prometheus.Registry }

// NewMeter returns a Meter.
func NewMeter() *Meter {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &Meter{r}
}

// Measure returns the current usage.
func (m *Meter) Measure() (u Usage, err error) {
	families, err := m.registry.Gather()
	if err != nil {
		return u, fmt.Errorf("usage of this process: %w", err)
	}
	for _, f := range families {
		v := f.GetMetric()[0]
		switch f.GetName() {
		case "process_resident_memory_bytes":
			u.Memory = int64(v.GetGauge().GetValue())
		case "process_cpu_seconds_total":
			u.CPU = time.Duration(v.GetCounter().GetValue() * float64(time.Second))
		}
	}
	return u, nil
}
