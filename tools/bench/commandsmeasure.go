package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
)

// measureJobs creates Jobs with a command and waits until they are complete.
func measureJobs(ctx context.Context, m *measurement, a *apiClient, command []string) error {
	batch, err := batchclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "jobs"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	jobs, err := startWatch(ctx, batch.Jobs(ns).Watch)
	if err != nil {
		return err
	}
	defer jobs.Stop()
	return m.countDuring(ctx, a, func() error {
		cpu, began := m.controlPlane.startCPUTimer(), time.Now()
		err := inParallel(ctx, commandCount, func(ctx context.Context, i int) error {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("j%05d", i)}}
			job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: containers(command)}
			_, err := batch.Jobs(ns).Create(ctx, job, metav1.CreateOptions{})
			return err
		}, func(ctx context.Context) error { return awaitCount(ctx, jobs, commandCount, isJobComplete) })
		if err != nil {
			return fmt.Errorf("Jobs: %w", err)
		}
		m.recordSeconds("complete", time.Since(began))
		used, err := cpu()
		return m.recordIfSupported("cpu", used.Seconds(), err)
	})
}

func containers(command []string) []corev1.Container {
	return []corev1.Container{{Name: "c", Image: "busybox", Command: command}}
}

func isJobComplete(o runtime.Object) bool {
	job, ok := o.(*batchv1.Job)
	if !ok {
		return false
	}
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// measureSleepers creates Pods with a command and measures the memory that they take.
func measureSleepers(ctx context.Context, m *measurement, a *apiClient, command []string) error {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "sleepers"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	before, err := m.liveMemory(ctx, a)
	if err != nil {
		return err
	}
	took, err := createPods(ctx, core.Pods(ns), commandCount, command)
	if err != nil {
		return err
	}
	m.recordSeconds("ready", took)
	after, err := m.liveMemory(ctx, a)
	if err != nil {
		return err
	}
	m.values["each"] = (after - before) / 1024 / commandCount
	return m.recordRSS("rss")
}

// createPods creates Pods and returns how long it took until all were Ready.
func createPods(ctx context.Context, client coreclient.PodInterface, n int, command []string) (time.Duration, error) {
	pods, err := startWatch(ctx, client.Watch)
	if err != nil {
		return 0, err
	}
	defer pods.Stop()
	began := time.Now()
	err = inParallel(ctx, n, func(ctx context.Context, i int) error {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%05d", i)}, Spec: corev1.PodSpec{Containers: containers(command)}}
		_, err := client.Create(ctx, pod, metav1.CreateOptions{})
		return err
	}, func(ctx context.Context) error { return awaitCount(ctx, pods, n, isPodReady) })
	if err != nil {
		return 0, fmt.Errorf("Pods: %w", err)
	}
	return time.Since(began), nil
}

// liveMemory returns how many bytes of heap and stacks are in use after two collections.
// The first one lets finalizers run.
func (m *measurement) liveMemory(ctx context.Context, a *apiClient) (float64, error) {
	if err := sleepContext(ctx, m.idle/2); err != nil {
		return 0, err
	}
	for range 2 {
		if err := a.sendRequest(ctx, http.MethodGet, "/debug/pprof/heap?gc=1", ""); err != nil {
			return 0, err
		}
	}
	_, text, err := a.do(ctx, http.MethodGet, "/metrics", "")
	if err != nil {
		return 0, err
	}
	return sumMetrics(text, "go_memstats_heap_alloc_bytes", "go_memstats_stack_inuse_bytes")
}

// sumMetrics adds up metrics without labels, all of which must exist.
func sumMetrics(text []byte, names ...string) (sum float64, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	found := 0
	for lines.Scan() {
		for _, name := range names {
			number, ok := strings.CutPrefix(lines.Text(), name+" ")
			if !ok {
				continue
			}
			value, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return 0, fmt.Errorf("metrics: %q: %w", lines.Text(), err)
			}
			sum += value
			found++
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if found != len(names) {
		return 0, fmt.Errorf("metrics: %d of %s", found, strings.Join(names, ", "))
	}
	return sum, nil
}

// The requests whose latency is measured: one after the other, at a fixed rate.
const latencyRequests, latencyInterval = 500, 10 * time.Millisecond

// measureBesideLoops measures the latency of requests and a burst beside n Pods.
func measureBesideLoops(ctx context.Context, m *measurement, a *apiClient, n int, command []string) error {
	core, err := coreclient.NewForConfigAndClient(a.restConfig(), a.client)
	if err != nil {
		return err
	}
	const ns = "busy"
	if err := a.awaitNamespace(ctx, ns); err != nil {
		return err
	}
	if _, err := createPods(ctx, core.Pods(ns), n, command); err != nil {
		return err
	}
	if err := sleepContext(ctx, m.idle/2); err != nil { // a command may use more of the CPU at first
		return err
	}
	if err := measureLatency(ctx, m, a, "/api/v1/namespaces/"+ns+"/serviceaccounts/default"); err != nil {
		return err
	}
	return measureReadyBurst(ctx, m, a)
}

func measureLatency(ctx context.Context, m *measurement, a *apiClient, path string) error {
	var took []float64
	for range latencyRequests {
		began := time.Now()
		if err := a.sendRequest(ctx, http.MethodGet, path, ""); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began))/float64(time.Millisecond))
		if err := sleepContext(ctx, latencyInterval); err != nil {
			return err
		}
	}
	m.values["p50"], m.values["p99"] = quantile(took, 0.50), quantile(took, 0.99)
	return nil
}
