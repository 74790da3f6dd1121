package snapshotservice

import (
	"context"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// policyRefreshTime is how long after its informers have seen a change the API server may use the
// previous policies: it looks for changes a second after it has compiled the last ones, and
// compiles then, which takes a while on a busy machine.
const policyRefreshTime = 2 * time.Second

// admissionPolicies are the resource prefixes of what the API server compiles.
var admissionPolicies = []string{
	storekeys.MutatingAdmissionPolicies, storekeys.MutatingAdmissionPolicyBindings,
	storekeys.ValidatingAdmissionPolicies, storekeys.ValidatingAdmissionPolicyBindings,
}

// waitForAdmissionPolicies returns when the API server admits requests by the policies that were
// written.
func (s *Service) waitForAdmissionPolicies(ctx context.Context, written etcd.WriteResult) {
	if !changesAdmissionPolicies(written) {
		return
	}
	sleep.For(ctx, policyRefreshTime)
}

func changesAdmissionPolicies(written etcd.WriteResult) bool {
	for key := range written.Revisions {
		if slices.Contains(admissionPolicies, storekeys.ResourcePrefix(key)) {
			return true
		}
	}
	return false
}
