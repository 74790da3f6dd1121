package report

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/observe"
)

// clientJournal has calls of a controller and of a client, and syncs of which some have no record.
func clientJournal() *fakeJournal {
	j := newFakeJournal()
	of := observe.Object{Resource: "configmaps", Namespace: "default", Name: "one"}
	call := func(by string, client *observe.Caller, verb string, status int, message string) {
		j.add(time.Duration(len(j.records))*time.Millisecond, &observe.Called{
			Controller: by, Client: client, Verb: verb, Object: of, Status: status, Error: message, Conflict: status == 409 && message == "modified",
		})
	}
	installer := &observe.Caller{User: "admin", UserAgent: "installer"}
	call("c", nil, "get", 404, "not found") // no failure: it may not exist
	call("c", nil, "update", 200, "")
	call("c", nil, "update", 409, "modified")
	call("c", nil, "update", 500, "refused")
	j.add(time.Second, &observe.Synced{Controller: "c", Queue: "q", ID: 1, Key: "default/one", Error: "refused", Retried: true})
	call("installer (admin)", installer, "create", 201, "")
	for range 9 {
		call("installer (admin)", installer, "update", 409, "modified")
	}
	for range 3 {
		call("installer (admin)", installer, "patch", 422, "invalid")
	}
	j.now.Controllers = []observe.Controller{{Name: "c", State: observe.StateRunning, Delivered: 5, Reads: 1, Changes: 3, Errors: 2, Conflicts: 1, Syncs: 7, Failures: 1}}
	j.now.Clients = []observe.Client{{Name: "installer (admin)", Requests: 13, Changes: 13, Errors: 3, Conflicts: 9}}
	return j
}

// TestTotalsAreThoseOfTheTables: a number of the top row of the page and of the job summary is the sum of its column, and that
// of the list of errors.
func TestTotalsAreThoseOfTheTables(t *testing.T) {
	text := testutil.ReadFile(t, filepath.Join(writeReport(t, clientJournal(), &State{}, Outcome{Command: []string{"true"}, Began: runStart, Took: time.Second}), PageFile))
	tiles := map[string]int{}
	for _, m := range regexp.MustCompile(`<li[^>]*><b>(\d+)</b> ([a-z ]+)`).FindAllStringSubmatch(text, -1) {
		tiles[strings.TrimSuffix(m[2], "s")], _ = strconv.Atoi(m[1])
	}
	cells := regexp.MustCompile(`<t[hd][^>]*>(.*?)</t[hd]>`)
	_, section, _ := strings.Cut(text, `<section id="controllers"`)
	section, _, _ = strings.Cut(section, `</section>`)
	lines := strings.Split(section, "\n")
	var heads []string
	sums := map[string]int{}
	for _, line := range lines {
		row := cells.FindAllStringSubmatch(line, -1)
		if strings.HasPrefix(line, "<thead>") {
			for _, c := range row {
				heads = append(heads, strings.TrimSuffix(strings.ToLower(c[1]), "s"))
			}
			continue
		}
		for i, c := range row {
			n, _ := strconv.Atoi(c[1])
			sums[heads[i]] += n
		}
	}
	want := map[string]int{"sync": 7, "failed sync": 1, "write": 16, "conflict": 10, "failed call": 4}
	for what, n := range want {
		if tiles[what] != n || sums[what] != n {
			t.Errorf("%s: %d in the top row, %d in the table; want %d", what, tiles[what], sums[what], n)
		}
	}
	if listed := strings.Count(text, `<td>Conflict`); listed != 2 {
		t.Errorf("%d groups of conflicts are listed, want 2", listed)
	}
}
