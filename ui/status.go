package ui

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// WriteStatus writes a snapshot: a headline, what is wrong, then the queues that had work, the clients,
// and the controllers that are off, as tables that fit width columns; with wide set, all queues and
// numbers. trouble is text about what else is wrong, which follows the controllers with problems.
func WriteStatus(w io.Writer, s observe.Snapshot, trouble string, wide bool, width int) error {
	_, err := io.WriteString(w, formatHeadline(s, width)+
		formatStates(clientTroubleRows(s), wide, width)+
		formatStates(troubleRows(s), wide, width)+
		trouble+
		formatQueueTable(s.Queues, wide, width)+
		formatClients(s.Clients, wide, width, s.Time)+
		formatStates(offRows(s), wide, width))
	return err
}

// formatHeadline summarizes the control plane in one sentence. It is broken between its
// parts where it is longer than width.
func formatHeadline(s observe.Snapshot, width int) string {
	p := s.Process
	var is []string
	if p.State != "" {
		is = append(is, string(p.State))
	}
	if p.State == "" || p.State == observe.Ready {
		is = append(is, summarizeActivity(s))
	}
	parts := []string{strings.Join(is, " and ")}
	if p.Speed != "" && p.Speed != observe.SpeedFull {
		parts = append(parts, "speed "+p.Speed.String())
	}
	if p.Kubernetes != "" {
		parts = append(parts, "Kubernetes "+p.Kubernetes)
	}
	if up := s.Time.Sub(p.Started); !p.Started.IsZero() && up > 0 {
		parts = append(parts, "up "+formatUptime(up))
	}
	if p.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%d MiB memory", p.MemoryBytes>>20))
	}
	if changed := summarizeInterventions(s); changed != "" {
		parts = append(parts, changed)
	}
	name := p.Name
	if name == "" {
		name = "control plane"
	}
	first, rest, _ := strings.Cut(parts[0], "; ")
	if rest != "" {
		parts = append([]string{first, rest}, parts[1:]...)
	}
	lines := words.Wrap(words.OneLine(name+" is "+parts[0]), width-1)
	for _, part := range parts[1:] {
		part = words.OneLine(part)
		if last := &lines[len(lines)-1]; len(*last)+len("; ")+len(part) < width {
			*last += "; " + part
			continue
		}
		lines[len(lines)-1] += ";"
		lines = append(lines, words.Wrap(part, width-len("  "))...)
	}
	return strings.Join(lines, "\n  ") + "\n"
}

const (
	maxStatusWidth = 100 // and of a terminal that does not know its width
	minStatusWidth = 80
	unlimitedWidth = math.MaxInt
)

// StatusWidth is the number of columns that tables fit: those of the terminal, within limits. What is written elsewhere is read by
// line, as by grep: each row is one.
func (m Mode) StatusWidth() int {
	if m.Width == nil {
		return unlimitedWidth
	}
	if m.Columns() == 0 {
		return maxStatusWidth
	}
	return min(max(m.Columns(), minStatusWidth), maxStatusWidth)
}

func formatUptime(d time.Duration) string {
	switch s := d.Round(time.Second); {
	case s < time.Hour:
		return words.Duration(d)
	case s < 48*time.Hour:
		return fmt.Sprintf("%d h %02d m", int(s.Hours()), int(s.Minutes())%60)
	default:
		return fmt.Sprintf("%d days", int(s.Hours())/24)
	}
}
