package snapshotservice

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// Writes are admitted again when the API server has compiled the policies. Other restores do
// not wait.
func TestRestoreWaitsForAdmissionPolicies(t *testing.T) {
	for kind, want := range map[string]time.Duration{
		storekeys.MutatingAdmissionPolicies:         policyRefreshTime,
		storekeys.MutatingAdmissionPolicyBindings:   policyRefreshTime,
		storekeys.ValidatingAdmissionPolicies:       policyRefreshTime,
		storekeys.ValidatingAdmissionPolicyBindings: policyRefreshTime,
		"configmaps": 0,
	} {
		t.Run(kind, func(t *testing.T) {
			target := newTarget(t)
			synctest.Test(t, func(t *testing.T) {
				store := newFakeStore(configMapA)
				s := newStartedService(t, (&parts{}).config(target, store))
				file, err := s.Save(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				store.write(stateOf(configMapA, "/"+kind+"/p"))
				done, err := s.Restore(t.Context(), file)
				if err != nil || done.WritesBlocked != want {
					t.Errorf("%v; writes were blocked for %v, want %v", err, done.WritesBlocked, want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
