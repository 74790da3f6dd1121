package container

import "time"

// Phase is the phase of a run.
type Phase int

// The phases of a run, in order.
const (
	Preparing Phase = iota // until all that it needs exists
	Blocked                // something that it needs does not exist
	Running
	Ended
)

// Replacement is why a run is replaced by the next of its container.
type Replacement int

// The reasons of a replacement.
const (
	NotReplaced Replacement = iota
	ReplacedForImage
	ReplacedForResources
)

// State is the state of a run.
type State struct {
	Phase Phase
	// Command says that a command runs; if not, the run never ends by itself.
	Command bool
	// Mounted says that the volumes of the Pod are mounted. A Pod has no sandbox, and no address, before.
	Mounted bool
	// Probed says that the run has no command, but probes or a hook that decide about it.
	Probed bool
	// InHook says that the postStart hook has not completed. As with a kubelet, which starts containers one after the
	// other, the containers after it wait.
	InHook bool
	// HookError is what a kubelet says of the postStart hook if that has failed, which stops the run.
	HookError string
	// Replaced says why Runtime.Replace has stopped the run.
	Replaced Replacement
	// Unhealthy says that a failed probe has stopped the run, and that its container
	// restarts, whatever the exit code.
	Unhealthy bool
	// Reason and Message say why a run is blocked although the volumes are mounted, or how it ended.
	Reason, Message string
	// Temporary says that what blocks the run is an error of a request, which may not tell of a missing object.
	Temporary  bool
	StartedAt  time.Time
	FinishedAt time.Time
	ExitCode   int32
	// Started and Ready are the results of the startup and readiness probes.
	Started, Ready bool
}

// Decides reports whether the state says what becomes of the run. If not, that is up to
// the annotations of the Pod and its owner.
func (s State) Decides() bool { return s.Command || s.Probed }
