package main

import (
	"fmt"
	"time"
)

// metric is a row of the report. Less is better in all of them.
type metric struct {
	key   string // in the results file
	label string
	unit  string
	about string // how it is measured; "" needs no words
	// optional rows are left out where no run has them; others say n/a.
	optional bool
}

// metrics are all rows that the options may give, in the order of the report.
func metrics(idle time.Duration) []metric {
	half := words(idle / 2)
	list := []metric{
		{"ready", "start → /readyz", "s", "from just before the first process; asked every 5 ms", false},
		{"acts", "start → controllers act", "s", "a namespace, created as soon as that succeeds, has its default ServiceAccount and its kube-root-ca.crt", false},
		{"usable", "start → both", "s", "the later of the two", false},
		{"cpuStart", "CPU until both", "s", "user and system, all processes", false},
		{"cpuLate", "CPU until " + half + " later", "s", "with what a start puts off until after it", false},
		{"rss", "idle memory, RSS", "MiB", words(idle) + " after both; all processes added up", false},
		{"rssAnon", "– anonymous", "MiB", "", false},
		{"rssFile", "– file", "MiB", "", false},
		{"pss", "idle memory, PSS", "MiB", "shared pages divided by those who share them", false},
		{"cpuIdle", "idle CPU", "% of a core", "over the last " + half + " of that wait", false},
	}
	pods := fmt.Sprintf("first create → last Pod seen by a watch; %d clients create; nothing schedules or runs them", creators)
	view := "of the view alone, beside the control plane's"
	statuses, cpu, rss := "every Deployment's status counts all its replicas", "until statuses say so", "at that moment"
	for _, b := range bursts(true) {
		list = append(list,
			metric{b.key("pods"), fmt.Sprintf("%d × %d Pods exist", b.deployments, b.replicas), "s", pods, true},
			metric{b.key("settled"), "– statuses say so", "s", statuses, true},
			metric{b.key("cpu"), "– CPU", "s", cpu, true},
			metric{b.key("cpuView"), "– CPU of the view", "s", view, true},
			metric{b.key("rss"), "– RSS afterwards", "MiB", rss, true},
		)
		pods, statuses, cpu, view, rss = "as before, in the same control plane", "", "", "", ""
	}
	return append(list,
		metric{"stop", "stop", "s", "SIGTERM → gone; of several processes, one after the other, etcd last", false},
		metric{"cpuAll", "CPU of the whole run", "s", "as the system reports it at the end", false},
		metric{"binary", "binaries", "MB", "", false},
	)
}

// bursts are those to run, in this order in the same control plane.
func bursts(big bool) []burst {
	list := []burst{{100, 10}}
	if big {
		list = append(list, burst{500, 10})
	}
	return list
}

func (b burst) key(what string) string { return what + b.String() }

// words writes a duration as a person would.
func words(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }
