package main

import (
	"fmt"
	"os"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
)

// rejectTakenName returns an error if another control plane has the name of the one that is to
// start: --name would mean one of them for some verbs, and the other one for others.
func (u *upCommand) rejectTakenName() error {
	t, name := u.target, u.server.Name
	if u.server.Private || t.dataDir != "" || !t.named() && os.Getenv(dataDirEnv) != "" {
		return nil
	}
	if u.ephemeral {
		path, err := datadir.Path(name, "")
		if err == nil {
			_, err = datadir.Inspect(path)
		}
		if !isMissing(err) { // perhaps damaged
			return fmt.Errorf("a control plane called %q exists already, in %s: choose another --name", name, path)
		}
		if !t.named() {
			return nil // several may run with the default name
		}
	}
	others, err := peekEach(datadir.EphemeralDirs, func(c candidate) bool { return c.state.Name == name })
	if err != nil || len(others) == 0 {
		return err
	}
	return fmt.Errorf("an ephemeral control plane called %q is running: choose another --name, or stop it with %s", name, quoteCommand(programWord()+" --data-dir "+quoteWord(others[0].path)+" down"))
}
