package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/apiserver"
	"github.com/ctrlplane/ctrlplane/apiserver/loopback"
	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/clients"
	"github.com/ctrlplane/ctrlplane/controllers"
	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/scheduler"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/memory"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/sim/container"
	"github.com/ctrlplane/ctrlplane/sim/kubelet"
	"github.com/ctrlplane/ctrlplane/sim/nodes"
)

// controlPlane is the parts of a Server, from Start on.
type controlPlane struct {
	config *Server      // a copy
	began  time.Time    // when the start did
	log    *slog.Logger // set before the first step that overlaps others

	cancelStart   context.CancelCauseFunc
	startCanceled <-chan struct{} // closed when the start is canceled or over
	startEnded    chan struct{}
	stepFailed    atomic.Bool // a step of the start has

	closers   []func() error // in the order of the start; run backwards
	closeOnce sync.Once
	closing   chan struct{} // closed when close begins
	closeErr  error
	done      chan struct{} // closed when close is over
	cause     error         // final when done is closed
	watcher   sync.WaitGroup

	stopScraping context.CancelFunc // nil before startScraping
	scraping     sync.WaitGroup

	// ready says that the start has succeeded: the fields below are final. Before,
	// only the steps of the start use them.
	ready      atomic.Bool
	dirPath    atomic.Pointer[string] // of dir, for any goroutine
	kubernetes atomic.Pointer[string] // the minor version, for any goroutine
	observer   *observe.Observer
	clients    *clients.Clients
	pace       *intervene.Pace
	scraped    []*scrapedProcess
	memory     *memory.Governor
	manifests  []manifests.Object
	dir        *datadir.Dir
	holdsData  bool          // dir has held an embedded etcd's data
	placed     bool          // this start has placed its snapshot in dir
	written    bool          // this start has written its snapshot into an etcd cluster
	writing    atomic.Bool   // a snapshot is being written into etcd
	logFile    *logfile.File // nil without a log
	listening  chan struct{} // closed when the port for clients is open
	etcd       *etcdStarter
	certs      *pki.Bundle
	supervisor *controllers.Supervisor
	nodes      *nodeSimulation
	apiHandler *loopback.DeferredHandler // the API server's, for clients inside the process
	api        *apiserver.Server
	// informerLoan are informers of the API server that the controllers use, too.
	informerLoan *apiserver.InformerLoan
	kubelets     *kubelet.Server
	commands     *container.Runtime // of the containers of simulated nodes
	notRun       nodes.NotRun       // what those do not run
	lease        *lease             // nil without leader election
	leadership   *leadership        // nil without leader election
	snapshots    *snapshotservice.Service
	startState   atomic.Pointer[snapshotservice.Service] // snapshots, once the start is over
	kubeconfig   *clientcmdapi.Config
	url          string
	scheduler    atomic.Pointer[scheduler.Scheduler] // nil while none runs
	readyChecks  []healthz.HealthChecker
	liveChecks   []healthz.HealthChecker
}

func newControlPlane(config *Server) *controlPlane {
	return &controlPlane{
		began: time.Now(),
		// Apart, because client-go's transports keep the kubelets, which keep it: the control
		// plane must not live on with them.
		commands:     &container.Runtime{},
		config:       config,
		log:          slog.New(slog.DiscardHandler),
		startEnded:   make(chan struct{}),
		closing:      make(chan struct{}),
		done:         make(chan struct{}),
		apiHandler:   loopback.NewDeferredHandler(),
		informerLoan: apiserver.NewInformerLoan(),
		listening:    make(chan struct{}),
		etcd:         newEtcdStarter(),
		pace:         intervene.NewPace(),
	}
}

// startStep is one part of the start, with the function that undoes it.
type startStep struct {
	stage string                      // its name for OnStage, the log and the Observer; empty = not reported
	run   func(context.Context) error // nil in a step that only waits
	// close undoes the step; it is called, too, if run has failed or was skipped.
	close func() error
	// background runs the step concurrently with those that follow, until a step with
	// wait set, which begins when all background steps have ended.
	background bool
	wait       bool
	skip       bool
	// waitsFor says what the step waits for, for a warning if it takes slowStep; nil = no
	// warning.
	waitsFor func(context.Context) string
}

// slowStep is how long a step may take that usually takes less than a second.
const slowStep = 15 * time.Second

// startSteps is the order of the start. Close runs the close functions backwards.
func (p *controlPlane) startSteps() []startStep {
	elect := p.config.Controllers.LeaderElect
	return []startStep{
		// First, so that a file that cannot be read, or nodes that cannot be, fail the start
		// before it creates anything.
		{run: p.loadManifests},
		{run: p.checkNodes},
		// All other parts keep their files in the data folder.
		{stage: "data folder", run: p.openDataDir, close: p.closeDataDir},
		// Before all that logs; the file may be in the data folder.
		{run: p.openLog, close: p.closeLog},
		// As early as possible, because the API server waits for it: it takes about as
		// long as the steps up to there. It writes what is in the store from the
		// beginning, so nothing else may read from the store before it has ended.
		{stage: "etcd", run: p.startEtcd, close: p.closeEtcd, background: true, waitsFor: p.describeCluster()},
		// The options name the certificates' files.
		{stage: "certificates", run: p.ensureCertificates},
		// All that the user may have got wrong, before anything is served.
		{stage: "options", run: p.checkOptions},
		// Ends when it serves; it is not ready yet. Needs the supervisor for its health checks.
		{stage: "API server", run: p.startAPIServer, close: p.closeAPIServer, background: true},
		// Controllers that need no answer from the API server are built while it is
		// assembled, which keeps only one core busy. Closed before the API server, or
		// their last calls would fail.
		{run: p.prepareControllers, close: p.closeControllers, skip: elect},
		// What follows calls the API server.
		{wait: true},
		// The API server connects to the kubelets for logs and exec of Pods, which exist from the next step on.
		{run: p.startKubelets, close: p.closeKubelets},
		// Before readiness: a client that sees the control plane as ready may call it.
		{run: p.serveControl},
		{run: p.startScraping, close: p.closeScraping},
		// Beside the controllers: both wait for the API server's first complete answer,
		// and neither needs the other. With leader election the leader creates them.
		{stage: "nodes", run: p.startNodes, close: p.closeNodes, background: true, skip: p.config.Nodes.Count == 0 || elect},
		// The scheduler is one of them. With leader election they start later, and only
		// the campaign for the lease starts here; closing it ends what the leader started.
		{stage: "controllers", run: p.startControllers, close: p.closeLease, waitsFor: p.describeReadiness},
		// Readiness means that the nodes exist, or that the API server refuses them.
		{wait: true},
		{stage: "readiness", run: p.waitReady, waitsFor: p.describeReadiness},
		// Before anything that is not the control plane's own work.
		{stage: "settling", run: p.excludeStart, skip: !p.config.Observe.ExcludeStart},
		{run: p.createKubeconfig},
		// The objects need controllers, nodes and a ready API server.
		{stage: "manifests", run: p.applyManifests, skip: len(p.config.Manifests)+len(p.config.ManifestTexts) == 0},
		// From now on the first change from outside determines what a reset restores. Closed first,
		// because it reads from etcd.
		{run: p.startSnapshots, close: p.closeSnapshots},
		// Last: other processes take the files as a sign that they can connect, and a reset
		// undoes what they write.
		{stage: "kubeconfig", run: p.publishKubeconfig},
	}
}

// start runs the steps. After an error the caller closes the control plane.
func (p *controlPlane) start(ctx context.Context) error {
	p.memory = memory.Start(p.config.KeepGCSettings)
	p.onClose(p.memory.Close)
	if err := p.runSteps(ctx, p.startSteps()); err != nil {
		return err
	}
	p.memory.Started(p.log)
	p.ready.Store(true)
	p.watchComponents()
	p.watcher.Go(p.watchDataDir)
	p.watcher.Go(p.watchCertificates)
	return nil
}

// runSteps runs the steps, and returns the first error once all of them have ended.
func (p *controlPlane) runSteps(outer context.Context, steps []startStep) (err error) {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	var once sync.Once
	fail := func(failure error) {
		once.Do(func() {
			err = p.explainStartError(outer, failure) // before cancel makes others fail, too
			cancel()
		})
	}
	var background sync.WaitGroup
	for _, step := range steps {
		if ctx.Err() != nil { // not after the last step: then the start has succeeded
			fail(ctx.Err())
			break
		}
		if step.close != nil {
			p.onClose(step.close)
		}
		run := func() {
			if failure := p.runStep(ctx, step); failure != nil {
				fail(failure)
			}
		}
		switch {
		case step.wait:
			background.Wait()
		case step.skip:
		case step.background:
			background.Go(run)
		default:
			run()
		}
	}
	background.Wait()
	return err
}

func (p *controlPlane) runStep(ctx context.Context, step startStep) error {
	if step.stage == "" {
		return p.runUnreported(ctx, step)
	}
	began := time.Now()
	p.reportStage(Stage{Name: step.stage})
	stop := p.warnIfSlow(ctx, step)
	err := p.runUnreported(ctx, step)
	stop()
	took := time.Since(began)
	reported := err
	if err != nil && ctx.Err() != nil { // another step has failed, which a step need not say when it is stopped for that
		reported = errors.Join(ctx.Err(), err)
	}
	p.reportStage(Stage{Name: step.stage, Ended: true, Took: took, Err: reported})
	record := &observe.BootStep{Step: step.stage, Took: took}
	if err != nil {
		record.Error = err.Error()
	}
	p.observer.Append(record)
	p.log.Info("start", "stage", step.stage, "took", took, "err", err)
	return err
}

func (p *controlPlane) runUnreported(ctx context.Context, step startStep) error {
	err := step.run(ctx)
	if err != nil {
		p.stepFailed.Store(true)
	}
	return err
}

// warnIfSlow warns if the step does not end for slowStep. The caller calls stop at its end.
func (p *controlPlane) warnIfSlow(ctx context.Context, step startStep) (stop func()) {
	if step.waitsFor == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var warning sync.WaitGroup
	warning.Go(func() {
		timer := time.NewTimer(slowStep)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if reason := step.waitsFor(ctx); ctx.Err() == nil {
			p.warn(fmt.Sprintf("the start takes long: %s has taken %v so far: %s", step.stage, slowStep, reason))
		}
	})
	return func() { cancel(); warning.Wait() }
}

func (p *controlPlane) reportStage(s Stage) {
	if p.config.OnStage != nil {
		p.config.OnStage(s)
	}
}

// explainStartError returns the cause rather than its effect: that the start was
// interrupted, or that etcd has failed, instead of what this did to the current step.
func (p *controlPlane) explainStartError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the start was interrupted: %w", cause)
	}
	if cause := p.etcd.failure(); cause != nil {
		return cause
	}
	return err
}

func (p *controlPlane) warn(msg string) {
	p.log.Warn(msg)
	if p.config.OnWarning != nil {
		p.config.OnWarning(msg)
	}
}
