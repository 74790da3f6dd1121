package nodes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// createParallelism is how many nodes are created at the same time.
const createParallelism = 8

// Fleet is a set of simulated nodes.
type Fleet struct {
	client     kubernetes.Interface
	registry   *podRegistry
	simulation *simulation
	addMu      sync.Mutex // serializes Add, which chooses names that are free
}

// Start simulates every node that has kwok's annotation, and creates nodes until
// there are Count. It returns when they exist, or once the API server has refused one;
// ctx bounds only the start.
func Start(ctx context.Context, cfg Config) (*Fleet, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	connect := rest.CopyConfig(cfg.Connect(component))
	connect.ContentType = runtime.ContentTypeProtobuf
	connect.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	recorded := newPlayed(cfg.Recorder)
	recorded.complete = cfg.CompleteUpdate
	connect.Wrap(func(next http.RoundTripper) http.RoundTripper { return playedTransport{next, recorded, cfg.WaitTurn} })
	connect.Wrap(func(next http.RoundTripper) http.RoundTripper { return retryTransport{next} })
	client, err := kubernetes.NewForConfig(connect)
	if err != nil {
		return nil, fmt.Errorf("simulated nodes: %w", err)
	}
	var stages stageClients
	if cfg.Stages {
		if stages, err = newStageClients(cfg.Connect(component)); err != nil {
			return nil, fmt.Errorf("simulated nodes: %w", err)
		}
	}
	return startWithClients(ctx, cfg, client, stages, recorded)
}

func startWithClients(ctx context.Context, cfg Config, client kubernetes.Interface, stages stageClients, recorded *played) (*Fleet, error) {
	shape, err := cfg.nodeShape()
	if err != nil {
		return nil, err
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &Fleet{client: client, registry: newPodRegistry(shape, time.Now)}
	f.registry.checkPod, f.registry.commands, f.registry.notRun, f.registry.played = cfg.CheckPod, cfg.Commands, cfg.NotRun, recorded
	f.simulation = startSimulation(cfg, client, stages, f.registry, log)
	warn := func(msg string) { log.Warn(msg) }
	if cfg.Warn != nil {
		warn = cfg.Warn
	}
	if err := f.register(ctx, cfg.Count, warn); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// retryTransport makes client-go retry patches that fail with a server error: a stage, which is played as kwok would, is
// retried after some errors only.
type retryTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t retryTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPatch && response.StatusCode >= http.StatusInternalServerError && response.Header.Get("Retry-After") == "" {
		response.Header.Set("Retry-After", "1")
	}
	return response, err
}

// Close stops the simulation. The nodes stay; another fleet continues with them.
func (f *Fleet) Close() error {
	f.simulation.stop()
	return nil
}

// ErrClosed says that the fleet has been closed. Another one may continue with its nodes.
var ErrClosed = errors.New("the simulation of nodes has ended")

// Add creates n more nodes and returns their names. If one cannot be created, it
// deletes the others. If the fleet is closed meanwhile, the error is ErrClosed.
func (f *Fleet) Add(ctx context.Context, n int) ([]string, error) {
	adding, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(f.simulation.ctx, func() { cancel(ErrClosed) })
	defer stop()
	names, err := f.createNodes(adding, n)
	if err == nil {
		return names, nil
	}
	if cause := context.Cause(adding); errors.Is(cause, ErrClosed) {
		return nil, cause // a restore decides which nodes exist, also of those that were created
	}
	f.deleteCreated(ctx, names)
	return nil, err
}

// createNodes creates n more nodes and returns the names of those that it has created.
func (f *Fleet) createNodes(ctx context.Context, n int) (created []string, err error) {
	if n <= 0 {
		return nil, nil
	}
	f.addMu.Lock()
	defer f.addMu.Unlock()
	select {
	case <-f.simulation.nodes.synced: // so that no address is allocated twice
	case <-ctx.Done():
		return nil, fmt.Errorf("list nodes: %w", context.Cause(ctx))
	}
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	if len(list.Items)+n > MaxCount {
		return nil, usage.Errorf("cannot add %d nodes to %d: no more than %d can be simulated", n, len(list.Items), MaxCount)
	}
	taken := map[string]bool{}
	for i := range list.Items {
		taken[list.Items[i].Name] = true
	}
	names := freeNames(taken, n)
	failed := make([]bool, n)
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(createParallelism)
	for i, name := range names {
		addr := f.registry.allocateNodeIP()
		group.Go(func() error {
			err := f.createNode(each, name, addr)
			failed[i] = err != nil
			return err
		})
	}
	err = group.Wait()
	for i, name := range names {
		if !failed[i] {
			created = append(created, name)
		}
	}
	return created, err
}

func (f *Fleet) createNode(ctx context.Context, name string, addr netip.Addr) error {
	node := f.registry.shape.newNode(name, addr, time.Now())
	if _, err := f.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		f.registry.releaseNodeIP(addr)
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return nil
}

// deleteCreated deletes the nodes that a failed Add has created.
func (f *Fleet) deleteCreated(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	for _, name := range names {
		if err := f.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			f.simulation.log.Error("cannot delete a node after another could not be created", "node", name, "err", err)
		}
	}
}

// getSimulated returns a simulated node.
func (f *Fleet) getSimulated(ctx context.Context, name string) (*corev1.Node, error) {
	if name == "" || len(content.IsPathSegmentName(name)) > 0 { // client-go does not send such a request
		return nil, usage.Errorf("node %q does not exist", name)
	}
	node, err := f.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, usage.Errorf("node %q does not exist", name)
	case err != nil:
		return nil, fmt.Errorf("node %s: %w", name, err)
	case !annotations.IsSimulated(node):
		return nil, usage.Errorf("node %s is not simulated: it lacks the annotation %s=%s", name, annotations.KwokNode, annotations.KwokFake)
	}
	return node, nil
}
