package main

import "testing"

func TestParseCounters(t *testing.T) {
	got, err := parseCounters([]byte(`# HELP apiserver_request_total x
apiserver_request_total{code="200",resource="pods",verb="PATCH"} 10
apiserver_request_total{code="409",resource="deployments",verb="PUT"} 2
apiserver_request_total{code="200",resource="pods",verb="WATCH"} 7
go_memstats_alloc_bytes 5
go_memstats_alloc_bytes_total 1.5e+06
`))
	if want := (counters{requests: 12, conflicts: 2, allocated: 1.5e6}); got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if _, err := parseCounters([]byte("go_memstats_alloc_bytes_total many\n")); err == nil {
		t.Error("no error for a value that is not a number")
	}
}
