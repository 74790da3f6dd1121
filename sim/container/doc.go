// Package container is the container runtime of simulated nodes. It runs the commands
// of containers in package shell: in this process, on files in memory, with the
// environment and the volumes that package podconfig computes.
//
// A run is one execution of a container, from its preparation to its exit; runs of a
// container are numbered like its restarts. A run has a command if package shell knows
// all programs that it needs. Otherwise the run stands for what the image would have
// started, and only its preparation is real: the ConfigMaps and Secrets that it needs
// must exist.
//
// Nothing is stored. When a control plane starts again with Pods that are running,
// their commands start again from the beginning.
package container
