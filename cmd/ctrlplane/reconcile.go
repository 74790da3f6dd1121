package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/clients/reconciler"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

const (
	// syncEnv names, for the kubectl of a command, the sync that the command runs in.
	syncEnv = "CTRLPLANE_SYNC"
	// reconcileProgram is the program that such a sync is shown as a part of.
	reconcileProgram = "operator"
	// syncGrace is how long a command may take to exit when the controller is stopped.
	syncGrace = 2 * time.Second
)

// reconcileCommand has the flags of "ctrlplane reconcile".
type reconcileCommand struct {
	target    *target
	namespace string
	owns      []string
	plane     candidate
	command   []string
	out       io.Writer
}

func newReconcileCommand(t *target) *cobra.Command {
	r := &reconcileCommand{target: t}
	cmd := &cobra.Command{
		Use:   "reconcile [flags] KIND -- COMMAND [ARG…]",
		Short: "Run a controller whose reconciler is a command, in any language",
		Long: `Run a controller for the objects of a kind until interrupted. It has a watch, a cache
and a work queue as every controller, and one worker. For each key it runs the command,
with the name and the namespace of the object as last arguments. The command compares
what is with what should be, and writes the difference. If its exit code is not 0, the
key is queued again, each time after a longer delay, and the last line that it printed
is the error.

In the command, "ctrlplane kubectl" uses the same control plane, and its requests
belong to the sync, as do those of another program with the user agent "operator" and
a header Ctrlplane-Sync with the value of the variable CTRLPLANE_SYNC. So the controller
appears as operator/KIND in the view, on the page and in "ctrlplane controllers", which
can pause it, and causes in "trace" and "why" are certain.

KIND is any name that kubectl accepts. With --owns, an event about an object of another
kind adds the key of its owner: the one in its owner references with controller: true.`,
		Example: `  ctrlplane reconcile sites --owns deployments -- sh site.sh
  ctrlplane reconcile configmaps -n shop -- python3 copies.py`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash != 1 || len(args) < 2 {
				return usage.Errorf(`reconcile takes a kind and a command: %q`, "ctrlplane reconcile KIND -- COMMAND")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.command, r.out = args[1:], cmd.OutOrStdout()
			return r.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&r.namespace, "namespace", "n", "", "only reconcile objects in this namespace (default: all namespaces)")
	f.StringSliceVar(&r.owns, "owns", nil, "kinds that the command writes: their events add the key of the owner")
	return cmd
}

func (r *reconcileCommand) run(ctx context.Context, kind string) error {
	if _, err := newCommandProcess(r.command); err != nil {
		return err
	}
	cfg, err := r.target.toChange().restConfig()
	if err != nil {
		return err
	}
	if r.plane, err = r.target.running(); err != nil {
		return err
	}
	if err := r.target.checkCurrentContext(r.plane); err != nil {
		return err
	}
	cfg.UserAgent = useragent.Of(reconcileProgram)
	c := &reconciler.Controller{Config: cfg, Namespace: r.namespace, Sync: r.sync}
	mapper, err := newKindMapper(cfg)
	if err != nil {
		return err
	}
	if c.For, err = r.resolveKind(ctx, mapper, kind); err != nil {
		return err
	}
	for _, name := range r.owns {
		k, err := r.resolveKind(ctx, mapper, name)
		if err != nil {
			return err
		}
		c.Owns = append(c.Owns, k)
	}
	c.Name = strings.ToLower(c.For.Kind)
	return c.Run(ctx, func() {
		fmt.Fprintf(r.out, "%s/%s is running: %s for each key\n", reconcileProgram, c.Name, words.OneLine(strings.Join(r.command, " ")))
	})
}

func (r *reconcileCommand) resolveKind(ctx context.Context, mapper kinds.Mapper, name string) (reconciler.Kind, error) {
	m, err := mapper.Find(ctx, strings.ToLower(name))
	if meta.IsNoMatchError(err) {
		return reconciler.Kind{}, unknownKindError(ctx, r.target, mapper, name)
	}
	if err != nil {
		return reconciler.Kind{}, err
	}
	return reconciler.Kind{GroupVersionResource: m.Resource, Kind: m.GroupVersionKind.Kind, Namespaced: isNamespaced(m)}, nil
}

// sync runs the command for a key.
func (r *reconcileCommand) sync(ctx context.Context, key cache.ObjectName, header string) error {
	name := words.OneLine(key.String())
	c, err := newCommandProcess(append(r.command[:len(r.command):len(r.command)], key.Name, key.Namespace))
	if err != nil {
		return r.notStarted(name, err)
	}
	out := &keyWriter{out: r.out, key: name}
	c.ownGroup = true
	c.cmd.Stdin = nil
	c.passOn(out, out)
	kubeconfig := os.Getenv(clientcmd.RecommendedConfigPathEnvVar) // it may name a namespace
	if !r.plane.isFor(filepath.SplitList(kubeconfig)...) {
		kubeconfig = r.plane.kubeconfig()
		if err := r.target.checkCurrentContext(r.plane); err != nil {
			return r.notStarted(name, err)
		}
	}
	c.cmd.Env = append(commandEnv(""), syncEnv+"="+header, dataDirEnv+"="+r.plane.path, clientcmd.RecommendedConfigPathEnvVar+"="+kubeconfig)
	if err := c.startProcess(); err != nil {
		return r.notStarted(name, err)
	}
	defer c.system.release()
	select {
	case <-c.exited:
	case <-ctx.Done():
		c.stopWithin(syncGrace)
	}
	out.flush()
	code, err := c.exitCode()
	if err != nil || code == 0 {
		return err
	}
	if ctx.Err() == nil {
		fmt.Fprintf(r.out, "%s: failed with exit code %d, will retry\n", name, code)
	}
	return errors.New(strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", code, out.last), ": "))
}

// notStarted says that the command cannot be started, for example because it has changed.
func (r *reconcileCommand) notStarted(key string, err error) error {
	fmt.Fprintf(r.out, "%s: %s, will retry\n", key, words.OneLine(err.Error()))
	return err
}

// stopWithin asks a command with a group of its own to exit, and ends it by force if it
// takes too long.
func (c *commandProcess) stopWithin(grace time.Duration) {
	c.terminate()
	select {
	case <-c.exited:
	case <-time.After(grace):
	}
	c.killGroup()
	<-c.exited
}

// keyWriter writes lines with the key in front, and keeps the last one.
type keyWriter struct {
	out  io.Writer
	key  string
	mu   sync.Mutex
	line []byte
	last string
}

// maxSyncLine is the number of bytes of a line that are shown.
const maxSyncLine = 4096

func (w *keyWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range p {
		if b == '\n' {
			w.endLine()
		} else if len(w.line) < maxSyncLine {
			w.line = append(w.line, b)
		}
	}
	return len(p), nil
}

func (w *keyWriter) endLine() {
	text := words.OneLine(strings.TrimSpace(string(w.line)))
	w.line = w.line[:0]
	if text == "" {
		return
	}
	w.last = text
	fmt.Fprintf(w.out, "%s: %s\n", w.key, text)
}

// flush writes a last line without an end.
func (w *keyWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endLine()
}
