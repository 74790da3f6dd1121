//go:build linux

package main

import (
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// kind is one way to torture.
type kind struct {
	name string
	// share is how much time it gets, relative to the others.
	share int
	// missing returns what this machine lacks for it; "" = nothing.
	missing func(options) string
	// new returns its round function, with the state that its rounds share.
	new func() trial
}

// trial is what a campaign does for a kind.
type trial struct {
	do func(*round) error
	// progress says how far the rounds have come; nil = they have no end.
	progress func() string
}

// stateless returns a kind whose rounds share nothing.
func stateless(name string, share int, do func(*round) error) kind {
	return needing(nil, name, share, do)
}

// needing returns a stateless kind that a machine may lack something for.
func needing(missing func(options) string, name string, share int, do func(*round) error) kind {
	return kind{name, share, missing, func() trial { return trial{do: do} }}
}

func allKinds() []kind {
	return []kind{
		stateless("kill under load", 6, killUnderLoad),
		stateless("kill a first start", 4, killFirstStart),
		stateless("kill a save", 2, killSave),
		stateless("kill a restore", 4, killRestore),
		stateless("kill a reset", 4, killReset),
		stateless("kill up --from", 4, killFrom),
		sweepKind("sweep a first start", sweepFirstStart),
		sweepKind("sweep a second start", sweepSecondStart),
		sweepKind("sweep up --from", sweepFrom),
		sweepKind("sweep a restore", sweepRestore),
		sweepKind("sweep a save", sweepSave),
		sweepKind("sweep a reset", sweepReset),
		needing(missingMount, "full disk", 1, fillDisk),
		stateless("file size limit", 1, limitFileSize),
		needing(missingStrace, "slow disk", 1, slowDisk),
		needing(missingMount, "read-only folder", 1, readOnlyFolder),
		stateless("descriptor limit", 1, limitDescriptors),
		stateless("memory limit", 1, limitMemory),
		needing(missingControlGroup, "small container", 1, limitContainer),
		stateless("200 clients", 1, manyClients),
		stateless("stuck readers", 1, stuckReaders),
		stateless("hostile text", 1, hostileText),
		needing(missingClock, "clock jumps", 1, jumpClock),
		needing(missingEtcd, "lost leader", 2, loseLeader),
		needing(missingEtcd, "lost etcd member", 2, loseMember),
	}
}

// selectKinds returns the kinds of the given names, or all.
func selectKinds(names []string) ([]kind, error) {
	all := allKinds()
	for _, name := range names {
		if !slices.Contains(kindNames(), name) {
			return nil, usage.Errorf("-only: unknown kind %q: choose from %s", name, strings.Join(kindNames(), ", "))
		}
	}
	return slices.DeleteFunc(all, func(k kind) bool { return len(names) > 0 && !slices.Contains(names, k.name) }), nil
}

func kindNames() []string {
	var names []string
	for _, k := range allKinds() {
		names = append(names, k.name)
	}
	return names
}
