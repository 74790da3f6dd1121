package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/useragent"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/inspect"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// viewSource is what the live view needs of a control plane: its records, its objects
// and interventions.
type viewSource struct {
	observe.Source
	observe.Inspector
	control.Interventions
	objectBrowser
	clients control.Interventions
	speed   control.SpeedControl
}

var (
	_ observe.KeySource = viewSource{}
	_ live.Browser      = viewSource{}
)

// SnapshotWithKeys implements observe.KeySource.
func (v viewSource) SnapshotWithKeys(ctx context.Context, keys ...string) (observe.Snapshot, error) {
	return observe.SnapshotWithKeys(ctx, v.Source, keys...)
}

// ClientInterventions implements live.ClientIntervener.
func (v viewSource) ClientInterventions() control.Interventions { return v.clients }

// SpeedControl implements live.SpeedController.
func (v viewSource) SpeedControl() control.SpeedControl { return v.speed }

// newViewSource combines src, the interventions in controllers and clients and the speed
// with the objects that cfg gives access to. The target is as for describeNow.
func newViewSource(src observe.Source, t *target, interventions, clients control.Interventions, speed control.SpeedControl, cfg *rest.Config) (viewSource, error) {
	objects, err := inspect.New(cfg)
	if err != nil {
		return viewSource{}, err
	}
	browser, err := newObjectBrowser(cfg, t)
	if err != nil {
		return viewSource{}, err
	}
	return viewSource{src, objects, interventions, browser, clients, speed}, nil
}

// restConfig is the client configuration of the running control plane.
func (t *target) restConfig() (*rest.Config, error) {
	c, err := t.running()
	if err != nil {
		return nil, err
	}
	if err := rejectSuspended(c.path); err != nil {
		return nil, err
	}
	if err := t.warnOfVersion(c.path); err != nil {
		return nil, err
	}
	return c.adminConfig()
}

// adminConfig is the client configuration of the administrator. It is made of the files that only ctrlplane writes: other
// programs change the kubeconfig, whose current context may be that of another cluster.
func (c candidate) adminConfig() (*rest.Config, error) {
	cfg := &rest.Config{Host: c.state.Server, QPS: -1, UserAgent: useragent.Of("ctrlplane")} // whatever the name of this file is
	for name, content := range map[string]*[]byte{"ca.crt": &cfg.CAData, "admin.crt": &cfg.CertData, "admin.key": &cfg.KeyData} {
		data, err := os.ReadFile(filepath.Join(c.path, pkiDir, name))
		if err != nil {
			return nil, fmt.Errorf("certificates of the control plane: %w", err)
		}
		*content = data
	}
	return cfg, nil
}

// warnOfVersion says once that the control plane in dir runs another version of ctrlplane than this one: what only one
// of them knows is missing in answers, or refused.
func (t *target) warnOfVersion(dir string) error {
	state, _, err := datadir.Peek(dir)
	if err != nil || t.quiet || state.CtrlplaneVersion == ctrlplane.Version() {
		return err
	}
	t.versionNoted.Do(func() {
		printWarning(fmt.Sprintf("the control plane was started by %s, this is %s: answers can be incomplete: stop it and start it with this one",
			cmp.Or(state.CtrlplaneVersion, "an earlier version of ctrlplane"), ctrlplane.Version()))
	})
	return nil
}

// controlClient is a client of the running control plane's own API.
func (t *target) controlClient() (*controlrest.Client, error) {
	cfg, err := t.restConfig()
	if err != nil {
		return nil, err
	}
	return controlrest.NewClient(cfg)
}

// connectView connects to the running control plane and takes a first snapshot of it.
func (t *target) connectView(ctx context.Context) (viewSource, observe.Snapshot, error) {
	cfg, err := t.restConfig()
	if err != nil {
		return viewSource{}, observe.Snapshot{}, err
	}
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		return viewSource{}, observe.Snapshot{}, err
	}
	s, err := client.Snapshot(ctx)
	if err != nil {
		return viewSource{}, observe.Snapshot{}, err
	}
	src, err := newViewSource(client, t, client.Interventions(), client.ClientInterventions(), client.SpeedControl(), cfg)
	return src, s, err
}
