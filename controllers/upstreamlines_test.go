package controllers

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/certificates"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/replicaset"

	"github.com/ctrlplane/ctrlplane/controllers/queues"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// upstreamController is a controller of upstream with an object to sync.
type upstreamController struct {
	queue  string
	object runtime.Object
	key    string
	// refuse is a resource whose writes fail, and with them each sync; "" = none.
	refuse    string
	construct func(context.Context, kubernetes.Interface, informers.SharedInformerFactory) (func(context.Context, int), error)
}

var errRefused = errors.New("refused by the test")

func upstreamControllers() []upstreamController {
	meta := metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "1"}
	labels := map[string]string{"app": "web"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	replicas := new(int32(1))
	return []upstreamController{
		{
			queue: "deployment", key: "default/web", refuse: "replicasets",
			object: &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
				Replicas: replicas, Selector: selector, Template: template, Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			}},
			construct: func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) (func(context.Context, int), error) {
				dc, err := deployment.NewDeploymentController(ctx, f.Apps().V1().Deployments(), f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), c)
				if err != nil {
					return nil, err
				}
				return dc.Run, nil
			},
		},
		{
			queue: "replicaset", key: "default/web", // it logs failures without its own logger
			object: &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: replicas, Selector: selector, Template: template}},
			construct: func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) (func(context.Context, int), error) {
				return replicaset.NewReplicaSetController(ctx, f.Apps().V1().ReplicaSets(), f.Core().V1().Pods(), c, replicaset.BurstReplicas).Run, nil
			},
		},
		{
			queue: "cronjob", key: "default/web", refuse: "jobs",
			object: &batchv1.CronJob{
				ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, CreationTimestamp: metav1.NewTime(time.Now().Add(-90 * time.Second))},
				Spec:       batchv1.CronJobSpec{Schedule: "* * * * *", ConcurrencyPolicy: batchv1.AllowConcurrent, JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}}},
			},
			construct: func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) (func(context.Context, int), error) {
				jm, err := cronjob.NewControllerV2(ctx, f.Batch().V1().Jobs(), f.Batch().V1().CronJobs(), c)
				if err != nil {
					return nil, err
				}
				return jm.Run, nil
			},
		},
		{
			queue: "endpoint", key: "default/web", refuse: "endpoints",
			object: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}},
			construct: func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) (func(context.Context, int), error) {
				core := f.Core().V1()
				return endpoint.NewEndpointController(ctx, core.Pods(), core.Services(), core.Endpoints(), c, 0).Run, nil
			},
		},
		{
			queue: "certificate", key: "web",
			object: &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "web"}},
			construct: func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) (func(context.Context, int), error) {
				handle := func(context.Context, *certificatesv1.CertificateSigningRequest) error { return nil }
				return certificates.NewCertificateController(ctx, "test", c, f.Certificates().V1().CertificateSigningRequests(), handle).Run, nil
			},
		},
		{
			queue: "job", key: "default/web",
			object: &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: replicas, Completions: replicas, BackoffLimit: replicas, CompletionMode: new(batchv1.NonIndexedCompletion), Selector: selector, Template: template, Suspend: new(true)}},
			construct: func(ctx context.Context, c kubernetes.Interface, f informers.SharedInformerFactory) (func(context.Context, int), error) {
				jc, err := job.NewController(ctx, c, f.Core().V1().Pods(), f.Batch().V1().Jobs(), nil, nil)
				if err != nil {
					return nil, err
				}
				return jc.Run, nil
			},
		},
	}
}

// Upstream's controllers run with a recording logger: what they log of a sync, its key
// and its failure, is read from their own lines.
func TestUpstreamLogLinesAreUnderstood(t *testing.T) {
	for _, c := range upstreamControllers() {
		t.Run(c.queue, func(t *testing.T) {
			client := fake.NewClientset(c.object)
			if c.refuse != "" {
				client.PrependReactor("*", c.refuse, func(action clienttesting.Action) (bool, runtime.Object, error) {
					write := action.GetVerb() == "create" || action.GetVerb() == "update"
					return write, nil, errRefused
				})
			}
			synced := c.recordSyncs(t, client)
			s := synced(func(s *observe.Synced) bool { return s.Queue == c.queue && s.KeyBasis == observe.BasisLog })
			if s.Key != c.key {
				t.Errorf("got key %q from the log, want %q", s.Key, c.key)
			}
			if c.refuse == "" {
				if s.Error != "" {
					t.Errorf("got error %q", s.Error)
				}
				return
			}
			s = synced(func(s *observe.Synced) bool { return s.Queue == c.queue && s.Error != "" })
			if !strings.Contains(s.Error, errRefused.Error()) {
				t.Errorf("got error %q, want %q", s.Error, errRefused)
			}
		})
	}
}

// recordSyncs runs a controller until the test ends, and returns a function that awaits a
// sync for which ok returns true.
func (c upstreamController) recordSyncs(t *testing.T, client kubernetes.Interface) func(ok func(*observe.Synced) bool) *observe.Synced {
	t.Helper()
	o := observe.New(observe.Options{Queues: queues.All()})
	recorder := o.Recorder("c")
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), recording.NewLogger(slog.DiscardHandler, recorder)))
	factory := informers.NewSharedInformerFactory(client, 0)
	var group sync.WaitGroup
	recorder.Do(func() {
		run, err := c.construct(ctx, client, factory)
		if err != nil {
			t.Fatal(err)
		}
		group.Go(func() { run(ctx, 1) })
	})
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		group.Wait()
		factory.Shutdown()
		o.Close()
	})
	return func(ok func(*observe.Synced) bool) *observe.Synced {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		deadline := time.After(30 * time.Second)
		for {
			page, err := o.Records(t.Context(), observe.Query{Kinds: []observe.Kind{observe.KindSynced}})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Records {
				if s := r.Event.(*observe.Synced); ok(s) {
					return s
				}
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("no such sync among %d", len(page.Records))
			}
		}
	}
}
