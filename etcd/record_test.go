package etcd

import "testing"

func TestRecords(t *testing.T) {
	for name, s := range map[string]*Server{
		"embedded": startServer(t, Config{Dir: t.TempDir(), NoSync: true}),
		"cluster":  startServer(t, Config{Endpoints: []string{startCluster(t, nil)}}),
	} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			want := func(value string) {
				t.Helper()
				if got, err := s.Record(ctx, "k"); err != nil || got != value {
					t.Errorf("got %q, %v; want %q", got, err, value)
				}
			}
			want("")
			must(t, s.PutRecord(ctx, "k", "v"))
			want("v")
			must(t, s.DeleteRecord(ctx, "k", "other"))
			want("v")
			must(t, s.DeleteRecord(ctx, "k", "v"))
			must(t, s.DeleteRecord(ctx, "k", "v"))
			want("")
		})
	}
}
