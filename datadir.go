package ctrlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/snapshotservice"
)

func (p *controlPlane) openDataDir(ctx context.Context) (err error) {
	if p.config.Dir == "" {
		p.dir, err = datadir.OpenTemp()
	} else {
		p.dir, err = datadir.Open(ctx, p.config.Dir, datadir.FormatVersion)
	}
	if err != nil {
		return err
	}
	dirPath := p.dir.Path()
	p.dirPath.Store(&dirPath)
	if err := p.dir.CleanupError(); err != nil {
		p.warn(err.Error())
	}
	state, err := p.dir.State()
	if err != nil {
		return err
	}
	if err := p.chooseKubernetes(state); err != nil { // before anything is written to the folder
		return err
	}
	if err := p.beginState(state); err != nil {
		return err
	}
	p.holdsData = state.EmbeddedEtcd
	from := p.initialSnapshot()
	if from.IsNone() {
		return nil
	}
	if !p.usesEmbeddedEtcd() {
		_, err := p.snapshotTarget().ReadInitial(from) // before anything is started
		return err
	}
	err = p.snapshotTarget().PlaceInitial(from)
	p.placed = err == nil
	return err
}

// initialSnapshot is what a new control plane starts from.
func (p *controlPlane) initialSnapshot() snapshotservice.Initial {
	return snapshotservice.Initial{Path: p.config.FromSnapshot, Data: p.config.FromSnapshotData}
}

// closeDataDir removes what a failed start has created, but not a restore that it has
// begun in an etcd cluster, which only the folder can finish, and not the keys of a state that it has
// written there. An ephemeral folder is removed in any case: the next start makes new keys.
func (p *controlPlane) closeDataDir() (err error) {
	switch {
	case p.dir == nil:
		return nil
	case p.ready.Load():
		return p.dir.Close()
	case !p.usesEmbeddedEtcd() && !p.dir.Ephemeral() && p.snapshotTarget().HasPending():
		p.warn(fmt.Sprintf("data folder %s is kept, because the state in etcd is half restored: start again without --from to finish that", p.dir.Path()))
		return p.dir.Close()
	case p.written: // with the keys of the folder, unless it is ephemeral
		p.warn("the etcd cluster holds the state of the snapshot now: start again without --from")
		return p.dir.Close()
	case p.placed: // or the next start would begin with that snapshot without being told to
		err = p.snapshotTarget().WithdrawInitial()
	}
	return errors.Join(err, p.dir.Discard())
}

// dataDirInterval is how often to look whether the data folder is still there.
const dataDirInterval = 2 * time.Second

// touchInterval is how often the files of an ephemeral folder are touched: those that clean the
// folder for temporary files wait for three days and more.
const touchInterval = 24 * time.Hour

// watchDataDir warns when the data folder was removed or renamed. The control plane goes on with an etcd
// cluster; the embedded etcd ends when it lists its files, every 30 s. It also keeps others from cleaning up an
// ephemeral folder.
func (p *controlPlane) watchDataDir() {
	tick := time.NewTicker(dataDirInterval)
	defer tick.Stop()
	touched := time.Now()
	for p.dir.Loss() == "" {
		select {
		case <-p.closing:
			return
		case <-tick.C:
		}
		if p.dir.Ephemeral() && hasPassed(touchInterval, touched, time.Now()) {
			touched = time.Now()
			if err := p.dir.Touch(); err != nil {
				p.log.Warn("data folder", "err", err)
			}
		}
	}
	msg := fmt.Sprintf("data folder %s was %s while it is in use: other commands do not find this control plane", p.dir.Path(), p.dir.Loss())
	if p.usesEmbeddedEtcd() {
		msg += ", which ends within half a minute"
	}
	p.warnWhileRunning(msg)
}

// hasPassed reports whether an interval has passed by the clock, which goes on while the machine
// sleeps.
func hasPassed(interval time.Duration, since, now time.Time) bool {
	return now.Round(0).Sub(since.Round(0)) >= interval
}

func (p *controlPlane) dataDirPath() string {
	if path := p.dirPath.Load(); path != nil {
		return *path
	}
	return ""
}
