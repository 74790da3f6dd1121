package etcd

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// A user who may use only what is below the prefix can save and replace the state there.
func TestStateOfALimitedUser(t *testing.T) {
	files := newTestFiles(t)
	s := startServer(t, Config{Endpoints: []string{startCluster(t, files)}, CAFile: files.ca, CertFile: files.cert, KeyFile: files.key})
	limitUser(t, s)
	ctx := testContext(t)
	if _, err := s.Record(ctx, "health"); !IsPermissionDenied(err) {
		t.Fatalf("the user is not limited: %v", err)
	}
	want := snapshot.State{Entries: []snapshot.Entry{{Key: "/pods/ns/p", Value: []byte(`{"v":0}`)}}}
	_, err := s.ReplaceState(ctx, prefix, want)
	must(t, err)
	if revision, err := s.Revision(ctx, prefix); err != nil || revision != readStateAt(t, s, 0).Revision {
		t.Errorf("revision %d, %v", revision, err)
	}
	if id, err := s.ClusterID(ctx, prefix); err != nil || id == "" {
		t.Errorf("cluster %q, %v", id, err)
	}
}

// limitUser limits the user of the test certificate to the keys below the prefix.
func limitUser(t *testing.T, s *Server) {
	t.Helper()
	c, err := s.Client()
	must(t, err)
	defer c.Close()
	ctx, below := testContext(t), prefix+"/"
	_, err = c.RoleAdd(ctx, "limited")
	must(t, err)
	_, err = c.RoleGrantPermission(ctx, "limited", below, clientv3.GetPrefixRangeEnd(below), clientv3.PermissionType(clientv3.PermReadWrite))
	must(t, err)
	for user, role := range map[string]string{"test": "limited", "root": "root"} { // of the certificate, and the one that etcd requires
		_, err = c.UserAddWithOptions(ctx, user, "", &clientv3.UserAddOptions{NoPassword: true})
		must(t, err)
		_, err = c.UserGrantRole(ctx, user, role)
		must(t, err)
	}
	_, err = c.AuthEnable(ctx)
	must(t, err)
}
