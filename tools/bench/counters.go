package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// counters are what a control plane in one process counts of itself. They vary less
// than times when the machine is busy.
type counters struct {
	requests  float64 // answered by the API server, without watches
	conflicts float64 // of them answered with a conflict
	allocated float64 // bytes
}

// readCounters reads them from the metrics of the API server.
func readCounters(ctx context.Context, a *apiClient) (counters, error) {
	_, text, err := a.do(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return counters{}, err
	}
	return parseCounters(text)
}

func parseCounters(text []byte) (c counters, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		isRequest := strings.HasPrefix(line, "apiserver_request_total{") && !strings.Contains(line, `verb="WATCH"`)
		if !isRequest && !strings.HasPrefix(line, "go_memstats_alloc_bytes_total ") {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		switch {
		case err != nil:
			return c, fmt.Errorf("metrics: %q: %w", line, err)
		case !isRequest:
			c.allocated = value
			continue
		case strings.Contains(line, `code="409"`):
			c.conflicts += value
		}
		c.requests += value
	}
	return c, lines.Err()
}

// countDuring calls do and records what was counted meanwhile; nothing if
// the control plane has several processes, whose requests and memory are their own.
func (m *measurement) countDuring(ctx context.Context, a *apiClient, do func() error) error {
	if len(m.controlPlane.pids()) > 1 {
		return do()
	}
	before, err := readCounters(ctx, a)
	if err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := readCounters(ctx, a)
	m.values["requests"] = after.requests - before.requests
	m.values["conflicts"] = after.conflicts - before.conflicts
	m.values["allocated"] = (after.allocated - before.allocated) / mebi
	return err
}
