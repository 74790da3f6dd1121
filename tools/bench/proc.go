package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// memory is the memory of a process in bytes.
type memory struct {
	rss  float64 // resident
	anon float64 // part of rss that is not backed by a file
	pss  float64 // resident, with shared pages divided by the number of processes
}

func (m memory) fileBacked() float64 { return m.rss - m.anon }

// parseSmaps parses /proc/PID/smaps_rollup.
func parseSmaps(data string) (memory, error) {
	var m memory
	fields := map[string]*float64{"Rss": &m.rss, "Anonymous": &m.anon, "Pss": &m.pss}
	for line := range strings.Lines(data) {
		key, value, _ := strings.Cut(line, ":")
		field, ok := fields[key]
		if !ok {
			continue
		}
		kb, ok := strings.CutSuffix(strings.TrimSpace(value), " kB")
		n, err := strconv.ParseFloat(kb, 64)
		if !ok || err != nil {
			return memory{}, fmt.Errorf("smaps_rollup: cannot read %q", strings.TrimSpace(line))
		}
		*field = n * 1024
		delete(fields, key)
	}
	for key := range fields {
		return memory{}, fmt.Errorf("smaps_rollup has no %s", key)
	}
	return m, nil
}

// pids returns the IDs of the processes.
func (p *controlPlane) pids() []int {
	list := slices.Clone(p.detached)
	for _, c := range p.processes {
		list = append(list, c.cmd.Process.Pid)
	}
	return list
}

// cpuUsed returns the CPU time of the running processes so far.
func (p *controlPlane) cpuUsed() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range p.pids() {
		used, err := cpuTime(pid)
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}

// startCPUTimer returns a function that returns the CPU time since the call.
func (p *controlPlane) startCPUTimer() func() (time.Duration, error) {
	before, early := p.cpuUsed()
	return func() (time.Duration, error) {
		after, err := p.cpuUsed()
		return after - before, errors.Join(early, err)
	}
}

// memory returns the sum over the running processes.
func (p *controlPlane) memory() (memory, error) {
	var sum memory
	for _, pid := range p.pids() {
		m, err := memoryOf(pid)
		if err != nil {
			return memory{}, err
		}
		sum.rss += m.rss
		sum.anon += m.anon
		sum.pss += m.pss
	}
	return sum, nil
}
