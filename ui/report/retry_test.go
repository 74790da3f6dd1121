package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// retryJournal has a failed sync and a failed call of each kind; what is retried
// successfully if retried is set.
func retryJournal(retried bool) *fakeJournal {
	j := newFakeJournal()
	pod := observe.Object{Resource: "pods", Kind: "Pod", Namespace: "shop", Name: "p"}
	sync := func(id uint64, key, message string) {
		j.add(time.Duration(id)*time.Millisecond, &observe.Synced{Controller: "c", Queue: "q", ID: id, Key: key, Error: message, Retried: message != ""})
	}
	call := func(at, sync uint64, status int) {
		message := ""
		if status >= 400 {
			message = "refused"
		}
		j.add(time.Duration(at)*time.Millisecond, &observe.Called{Controller: "c", Verb: "update", Object: pod, Status: status, Sync: sync, Error: message})
	}
	call(1, 1, 500)
	sync(1, "shop/p", "refused")
	call(2, 0, 500) // outside of any sync
	call(3, 3, 404) // its sync has no key, and handles it
	sync(3, "", "")
	if retried {
		call(4, 4, 200)
		sync(4, "shop/p", "")
	} else {
		sync(4, "shop/other", "")
	}
	j.now.Controllers = []observe.Controller{{Name: "c", Syncs: 3, Failures: 1, Errors: 3, Changes: 3}}
	return j
}

func TestRetriedFailuresAreNotRed(t *testing.T) {
	for _, retried := range []bool{true, false} {
		d := newDigest()
		for _, r := range retryJournal(retried).records {
			d.add(r)
		}
		d.markRetried()
		if wantSyncs, wantCalls := 1, 2; !retried && (d.failedSyncs != wantSyncs || d.failedCalls != wantCalls) || retried && d.failedSyncs+d.failedCalls != 0 {
			t.Errorf("retried %v: %d failed syncs and %d failed calls are left", retried, d.failedSyncs, d.failedCalls)
		}
		for _, m := range d.marks.list {
			if retried && m.tone == toneFailed {
				t.Errorf("%+v is red although it was retried", m)
			}
		}
		text := testutil.ReadFile(t, filepath.Join(writeReport(t, retryJournal(retried), &State{}, Outcome{Command: []string{"true"}, Began: runStart, Took: time.Second}), PageFile))
		if got := strings.Contains(text, `<li class="bad">`); got == retried {
			t.Errorf("retried %v: a fact is red: %v", retried, got)
		}
		if got := strings.Contains(text, "retried successfully"); got != retried && retried {
			t.Errorf("retried %v: the page says so: %v", retried, got)
		}
	}
}
