package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// churnNodes is the number of simulated nodes that the Pods of -churn run on.
const churnNodes = 100

// churnSample is what a control plane uses at one moment of -churn.
type churnSample struct {
	after                     time.Duration
	cycles                    int     // that have ended
	database, rss, fileBacked float64 // MiB
	goroutines, descriptors   float64
}

// churnInterval is the time between two samples: they must meet all states of a cycle.
const churnInterval = 3 * time.Second

// runChurn creates Deployments and deletes them with their namespace, again and again, with the
// live view attached, and reports what the control plane uses meanwhile.
func runChurn(ctx context.Context, o options, stdout, progress io.Writer) error {
	if err := o.makePathsAbsolute(); err != nil {
		return err
	}
	var samples []churnSample
	err := inWorkDir("churn", func(r *workDir) (err error) {
		samples, err = o.measureChurn(ctx, r, progress)
		return err
	})
	if err != nil {
		return err
	}
	text := formatChurn(o.churn, samples)
	if _, err := io.WriteString(stdout, text); err != nil || o.doc == "" {
		return err
	}
	return insertSection(o.doc, "churn", text)
}

func (o options) measureChurn(ctx context.Context, r *workDir, progress io.Writer) ([]churnSample, error) {
	p, err := o.launchUp(r, func() string { return r.join("data", "pki") }, "--data-dir", r.join("data"), "--no-scheduler=false")
	if err != nil {
		return nil, err
	}
	defer p.kill()
	m := &measurement{options: o, controlPlane: p, workDir: r, values: map[string]float64{}}
	a, err := m.measureStart(ctx)
	if err != nil {
		return nil, err
	}
	defer a.close()
	view, err := o.attachView(ctx, r)
	if err != nil {
		return nil, err
	}
	defer view.close()
	var samples []churnSample
	err = p.whileRunning(ctx, o.churn+o.timeout, func(ctx context.Context) error {
		return view.whileRunning(ctx, o.churn+o.timeout, func(ctx context.Context) (err error) {
			if err := m.createNodes(ctx, a, churnNodes); err != nil {
				return fmt.Errorf("nodes: %w", err)
			}
			samples, err = m.sampleCycles(ctx, a, progress)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	view.close()
	_, err = p.stop(ctx)
	return samples, err
}

// sampleCycles runs cycles until the time is over, and samples meanwhile.
func (m *measurement) sampleCycles(ctx context.Context, a *apiClient, progress io.Writer) ([]churnSample, error) {
	began := time.Now()
	ended, last := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(last)
		for time.Since(began) < m.churn {
			if err := m.runCycle(ctx, a); err != nil {
				last <- err
				return
			}
			select {
			case ended <- struct{}{}:
			case <-ctx.Done():
			}
		}
	}()
	var samples []churnSample
	ticker := time.NewTicker(churnInterval)
	defer ticker.Stop()
	for cycles := 0; ; {
		select {
		case err := <-last:
			return samples, err
		case <-ended:
			cycles++
		case <-ticker.C:
			s, err := m.sampleChurn(ctx, a)
			if err != nil {
				return nil, err
			}
			s.after, s.cycles = time.Since(began), cycles
			samples = append(samples, s)
			if len(samples)%20 == 0 {
				fmt.Fprintf(progress, "%v: %d cycles, database %.0f MiB, RSS %.0f MiB\n", s.after.Round(time.Second), cycles, s.database, s.rss)
			}
		}
	}
}

// runCycle creates the small burst, waits until its Pods are Ready, and deletes its namespace.
func (m *measurement) runCycle(ctx context.Context, a *apiClient) error {
	ctx, cancel := withTimeout(ctx, m.timeout)
	defer cancel()
	if err := measureReadyBurst(ctx, m, a); err != nil {
		return err
	}
	_, err := a.deleteAndWait(ctx, "/api/v1/namespaces/"+smallBurst.namespace(), 10*pollInterval)
	return err
}

func (m *measurement) sampleChurn(ctx context.Context, a *apiClient) (s churnSample, err error) {
	memory, err := m.controlPlane.memory()
	if err != nil {
		return s, err
	}
	database, err := os.Stat(filepath.Join(m.workDir.join("data"), "etcd", "member", "snap", "db"))
	if err != nil {
		return s, err
	}
	_, text, err := a.do(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return s, err
	}
	s.rss, s.fileBacked, s.database = memory.rss/mebi, memory.fileBacked()/mebi, float64(database.Size())/mebi
	if s.goroutines, err = gauge(text, "go_goroutines"); err != nil {
		return s, err
	}
	s.descriptors, err = gauge(text, "process_open_fds")
	return s, err
}

// gauge returns the value of a metric without labels.
func gauge(text []byte, name string) (float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("metrics: %w", err)
	}
	return 0, fmt.Errorf("metrics: %s is missing", name)
}

// formatChurn reports the most that was used in each eighth of the time, so that what grows is
// seen, and the least: memory that is mapped from a file may come and go.
func formatChurn(d time.Duration, samples []churnSample) string {
	const parts = 8
	columns := []struct {
		label string
		of    func(churnSample) float64
	}{
		{"database, MiB", func(s churnSample) float64 { return s.database }},
		{"RSS, MiB", func(s churnSample) float64 { return s.rss }},
		{"of it file-backed, MiB", func(s churnSample) float64 { return s.fileBacked }},
		{"goroutines", func(s churnSample) float64 { return s.goroutines }},
		{"descriptors", func(s churnSample) float64 { return s.descriptors }},
	}
	header := []string{"until", "cycles"}
	for _, c := range columns {
		header = append(header, c.label)
	}
	var rows [][]string
	for n := range parts {
		from, to := d*time.Duration(n)/parts, d*time.Duration(n+1)/parts
		var within []churnSample
		for _, s := range samples {
			if s.after > from && (s.after <= to || n == parts-1) {
				within = append(within, s)
			}
		}
		if len(within) == 0 {
			continue
		}
		row := []string{to.Round(time.Second).String(), strconv.Itoa(within[len(within)-1].cycles)}
		for _, c := range columns {
			values := make([]float64, len(within))
			for i, s := range within {
				values[i] = c.of(s)
			}
			row = append(row, formatCell(summarize(values), true))
		}
		rows = append(rows, row)
	}
	return fmt.Sprintf("%s\n\nA cycle creates %d Deployments of %d replicas on %d simulated nodes, waits until all Pods are Ready, and deletes their namespace; %v of them, with the view attached, everything synced to disk. Median (min–max) of a sample every %v.\n\n%s",
		describeMachine(), smallBurst.deployments, smallBurst.replicas, churnNodes, d, churnInterval, markdownTable(header, rows))
}
