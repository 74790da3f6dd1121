package main

import (
	"fmt"
	"time"
)

// metric is a row of the report. It is left out if no run has it. Less is better for
// all metrics.
type metric struct {
	key         string // in the results file
	label       string
	unit        string
	target      string // for ctrlplane on two cores; "" = none
	description string // how it is measured; "" if the label says it
}

// targetText returns the target for the report.
func (m metric) targetText() string {
	if m.target == "" {
		return ""
	}
	return "≤ " + m.target
}

// allMetrics returns all metrics in the order of the report.
func allMetrics(idle time.Duration) []metric {
	half := formatSeconds(idle / 2)
	list := []metric{
		{"ready", "start → /readyz", "s", "0.40", "from just before the first process starts; polled every 5 ms"},
		{"acts", "start → controllers act", "s", "0.40", "a namespace, created as soon as that succeeds, has its default ServiceAccount and kube-root-ca.crt"},
		{"usable", "start → both", "s", "0.40 (restart 0.30)", "the later of the two"},
		{"cpuStart", "CPU until both", "s", "0.6", "user and system, all processes"},
		{"cpuLate", "CPU until " + half + " later", "s", "", "includes work that a start postpones"},
		{"rss", "idle memory, RSS", "MiB", "200", formatSeconds(idle) + " after both; sum of all processes"},
		{"rssAnon", "– anonymous", "MiB", "", ""},
		{"rssFile", "– file", "MiB", "", ""},
		{"pss", "idle memory, PSS", "MiB", "", "shared pages divided by the number of processes that share them"},
		{"cpuIdle", "idle CPU", "% of a core", "1", "over the last " + half + " of that time"},
		{"firstPodP50", "Deployment create → first Pod seen, median", "ms", "3", fmt.Sprintf("by a watcher; %d Deployments with 1 replica, each created when the Pod of the one before is seen", firstPodTries)},
		{"firstPodP99", "– 99th percentile", "ms", "8", ""},
	}
	list = append(list, burstMetrics()...)
	list = append(list, informerMetrics()...)
	list = append(list, namespaceMetrics(idle)...)
	list = append(list, crdMetrics(idle)...)
	return append(list,
		metric{"stop", "stop", "s", "0.3", "SIGTERM → process ended; several processes one after the other, etcd last"},
		metric{"cpuAll", "CPU of the whole run", "s", "", "as the operating system reports it at the end"},
		metric{"runTrue", "run -- true", "s", "", "the whole command, with the defaults of run: one node, the scheduler"},
		metric{"runKubectl", "run -- kubectl get ns", "s", "", "the same, with upstream's kubectl"},
		metric{"binary", "binaries", "MB", "90", "stripped; without kubectl, which ctrlplane includes"},
	)
}

func burstMetrics() (list []metric) {
	pods := fmt.Sprintf("first create → last Pod seen by a watch; %d clients; no scheduler, no nodes", parallelClients)
	view := "of the view alone, in addition to the control plane's"
	statuses, cpu, rss := "every Deployment's status counts all its replicas", "until statuses are complete", "at that time"
	aims := map[burst][2]string{smallBurst: {"0.8", ""}, largeBurst: {"4", "7"}}
	for _, b := range []burst{smallBurst, largeBurst} {
		list = append(list,
			metric{b.metricKey("pods"), fmt.Sprintf("%d × %d Pods exist", b.deployments, b.replicas), "s", aims[b][0], pods},
			metric{b.metricKey("settled"), "– statuses complete", "s", "", statuses},
			metric{b.metricKey("cpu"), "– CPU", "s", aims[b][1], cpu},
			metric{b.metricKey("cpuView"), "– CPU of the view", "s", "", view},
			metric{b.metricKey("rss"), "– RSS afterwards", "MiB", "", rss},
		)
		pods, statuses, cpu, view, rss = "as before, in the same control plane", "", "", "", ""
	}
	return list
}

func informerMetrics() []metric {
	return []metric{
		{"informers/seen", fmt.Sprintf("%d updates of Pods, seen by %d informers with a label selector", informerUpdates, informerCount), "s", "", fmt.Sprintf("first patch → each informer has each update; %d clients; each informer has a connection of its own", parallelClients)},
		{"informers/cpu", "– CPU until then", "s", "", ""},
		{"informers/rss", "– RSS then", "MiB", "", ""},
		{"informers/latency", "– one update, seen by all of them, median", "ms", "", fmt.Sprintf("patch → the last informer has it; %d updates, one at a time", informerSingleUpdates)},
		{"informers/latencyP99", "– 99th percentile", "ms", "", ""},
	}
}

func namespaceMetrics(idle time.Duration) []metric {
	return []metric{
		{"emptyGone", "empty namespace deleted", "s", "0.3", "DELETE → GET returns 404; it had the objects that every namespace gets"},
		{"fullGone", fmt.Sprintf("namespace with %d Pods deleted", largeBurst.podCount()), "s", "10", "the same for the namespace of the last burst"},
		{"fullGoneCPU", "– CPU", "s", "", ""},
		{"rssGone", fmt.Sprintf("memory after %d Pods are deleted", largeBurst.podCount()), "MiB", "450", "RSS at that time"},
		{"rssGoneIdle", "– and after the idle time", "MiB", "", formatSeconds(idle) + " later"},
	}
}

func crdMetrics(idle time.Duration) []metric {
	return []metric{
		{"crdsEstablished", fmt.Sprintf("%d CRDs established", manyCRDs), "s", "", fmt.Sprintf("generated: %d groups, schemas of %s on average; created one after the other in a control plane of their own", crdGroups, crdMean)},
		{"crdsCPU", "– CPU", "s", "", "until " + formatSeconds(idle) + " later"},
		{"crdsRSS", fmt.Sprintf("memory with %d CRDs", manyCRDs), "MiB", "500", "RSS " + formatSeconds(idle) + " later, before the first request for OpenAPI"},
		{"explainNew", "kubectl explain of a new kind", "s", "1", "from the response to the create of its CRD, in addition to those above; repeated until it succeeds, each time a new kubectl with an empty cache"},
		{"applyNew", "kubectl apply of a new kind", "s", "1", "the same for another kind"},
		{"crdsRSSAsked", "– after requests for OpenAPI", "MiB", "", "after those two and one request for /openapi/v2"},
		{"childGone", "dependent of a custom resource collected", "s", "1", "the owner, whose kind was established " + formatSeconds(kindAge) + " before, is deleted → its ConfigMap is deleted"},
	}
}

// formatSeconds formats a duration in seconds.
func formatSeconds(d time.Duration) string { return fmt.Sprintf("%g s", d.Seconds()) }
