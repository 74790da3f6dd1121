package main

import (
	"fmt"
	"time"
)

// metric is a row of the report; it is left out where no run has it. Less is
// better in all of them.
type metric struct {
	key         string // in the results file
	label       string
	unit        string
	target      string // what ctrlplane is to reach on two cores; "" = none is set
	description string // how it is measured; "" needs no words
}

// targetText is the aim as the report shows it.
func (m metric) targetText() string {
	if m.target == "" {
		return ""
	}
	return "≤ " + m.target
}

// allMetrics are all rows that the options may give, in the order of the report.
func allMetrics(idle time.Duration) []metric {
	half := formatSeconds(idle / 2)
	list := []metric{
		{"ready", "start → /readyz", "s", "0.40", "from just before the first process; asked every 5 ms"},
		{"acts", "start → controllers act", "s", "0.40", "a namespace, created as soon as that succeeds, has its default ServiceAccount and its kube-root-ca.crt"},
		{"usable", "start → both", "s", "0.40 (restart 0.30)", "the later of the two"},
		{"cpuStart", "CPU until both", "s", "0.6", "user and system, all processes"},
		{"cpuLate", "CPU until " + half + " later", "s", "", "with what a start puts off until after it"},
		{"rss", "idle memory, RSS", "MiB", "200", formatSeconds(idle) + " after both; all processes added up"},
		{"rssAnon", "– anonymous", "MiB", "", ""},
		{"rssFile", "– file", "MiB", "", ""},
		{"pss", "idle memory, PSS", "MiB", "", "shared pages divided by those who share them"},
		{"cpuIdle", "idle CPU", "% of a core", "1", "over the last " + half + " of that wait"},
		{"firstPodP50", "Deployment create → first Pod seen, median", "ms", "3", fmt.Sprintf("by a watcher; %d Deployments of 1 replica, the next one when the Pod of the one before is seen", firstPodTries)},
		{"firstPodP99", "– 99th percentile", "ms", "8", ""},
	}
	list = append(list, burstMetrics()...)
	list = append(list, namespaceMetrics(idle)...)
	list = append(list, crdMetrics(idle)...)
	return append(list,
		metric{"stop", "stop", "s", "0.3", "SIGTERM → gone; of several processes, one after the other, etcd last"},
		metric{"cpuAll", "CPU of the whole run", "s", "", "as the system reports it at the end"},
		metric{"runTrue", "run -- true", "s", "", "all of it, with the defaults of run: one node, the scheduler"},
		metric{"runKubectl", "run -- kubectl get ns", "s", "", "the same, with upstream's kubectl"},
		metric{"binary", "binaries", "MB", "90", "stripped; the three without kubectl, which ctrlplane includes"},
	)
}

func burstMetrics() (list []metric) {
	pods := fmt.Sprintf("first create → last Pod seen by a watch; %d clients create; nothing schedules or runs them", parallelClients)
	view := "of the view alone, beside the control plane's"
	statuses, cpu, rss := "every Deployment's status counts all its replicas", "until statuses say so", "at that moment"
	aims := map[burst][2]string{smallBurst: {"0.8", ""}, largeBurst: {"4", "7"}}
	for _, b := range []burst{smallBurst, largeBurst} {
		list = append(list,
			metric{b.metricKey("pods"), fmt.Sprintf("%d × %d Pods exist", b.deployments, b.replicas), "s", aims[b][0], pods},
			metric{b.metricKey("settled"), "– statuses say so", "s", "", statuses},
			metric{b.metricKey("cpu"), "– CPU", "s", aims[b][1], cpu},
			metric{b.metricKey("cpuView"), "– CPU of the view", "s", "", view},
			metric{b.metricKey("rss"), "– RSS afterwards", "MiB", "", rss},
		)
		pods, statuses, cpu, view, rss = "as before, in the same control plane", "", "", "", ""
	}
	return list
}

func namespaceMetrics(idle time.Duration) []metric {
	return []metric{
		{"emptyGone", "namespace with nothing in it deleted", "s", "0.3", "DELETE → a GET finds nothing; it had what controllers put into every namespace"},
		{"fullGone", fmt.Sprintf("namespace with %d Pods deleted", largeBurst.podCount()), "s", "10", "the same, of that of the last burst"},
		{"fullGoneCPU", "– CPU", "s", "", ""},
		{"rssGone", fmt.Sprintf("memory once %d Pods are deleted", largeBurst.podCount()), "MiB", "450", "RSS at that moment"},
		{"rssGoneIdle", "– and the control plane is left alone", "MiB", "", formatSeconds(idle) + " later"},
	}
}

func crdMetrics(idle time.Duration) []metric {
	return []metric{
		{"crdsEstablished", fmt.Sprintf("%d CRDs established", manyCRDs), "s", "", fmt.Sprintf("made by the bench: %d groups, schemas of %s on average; created one after the other in a control plane of their own", crdGroups, crdMean)},
		{"crdsCPU", "– CPU", "s", "", "until " + formatSeconds(idle) + " later"},
		{"crdsRSS", fmt.Sprintf("memory with %d CRDs", manyCRDs), "MiB", "500", "RSS " + formatSeconds(idle) + " later, before anybody asked for OpenAPI"},
		{"explainNew", "kubectl explain of a new kind", "s", "1", "begun when the create of its CRD is answered, beside those above; tried again until it succeeds, each try a new kubectl with an empty cache"},
		{"applyNew", "kubectl apply of a new kind", "s", "1", "the same with another kind"},
		{"crdsRSSAsked", "– when OpenAPI has been asked for", "MiB", "", "after those two, and /openapi/v2 was fetched once"},
		{"childGone", "child of a custom resource collected", "s", "1", "the owner, whose kind was established " + formatSeconds(kindAge) + " before, is deleted → its ConfigMap is gone"},
	}
}

// formatSeconds writes a duration as a person would.
func formatSeconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }
