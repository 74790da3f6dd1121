package ctrlplane

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/ctrlplane/ctrlplane/internal/logfile"
	"github.com/ctrlplane/ctrlplane/observe"
)

func (p *controlPlane) logPath() string {
	if p.config.Log.Path != "" {
		return p.config.Log.Path
	}
	return p.dir.Join(LogFile)
}

// foreignLogPath is the path of a log that is not in the data folder; otherwise empty.
func (p *controlPlane) foreignLogPath() (string, error) {
	if p.config.Log == nil || p.config.Log.Path == "" {
		return "", nil
	}
	return filepath.Abs(p.config.Log.Path)
}

func (p *controlPlane) openLog(context.Context) (err error) {
	if p.config.Log == nil {
		return nil
	}
	cfg := logfile.Config(*p.config.Log)
	cfg.Path = p.logPath()
	if p.logFile, err = logfile.Open(cfg); err != nil {
		return err
	}
	p.log = slog.New(p.logFile.Handler())
	return setKlog(p.log.Handler(), cfg.Verbosity)
}

func (p *controlPlane) closeLog() error {
	if p.logFile == nil {
		return nil
	}
	return p.logFile.Close()
}

// warnWhileRunning also records the warning, for those who observe the control plane.
func (p *controlPlane) warnWhileRunning(msg string) {
	p.warn(msg)
	p.observer.Append(&observe.Logged{Controller: observe.Own, Level: int(slog.LevelWarn), Message: msg})
}
