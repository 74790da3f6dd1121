package clients

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Refused reads are reported however many others were refused before, and a bounded number is kept.
func TestRefusedReadsOfManyResources(t *testing.T) {
	var r refusedReads
	now := time.Now()
	refuse := func(resource string) {
		for range refusedOften {
			r.note(&observe.Called{Verb: "list", Object: observe.Object{Resource: resource}, Status: 403, Error: "no"}, now)
		}
	}
	for range 3 { // informers ask in turn
		for i := range 2 * maxRefusedReads {
			refuse(fmt.Sprint("past", i))
		}
	}
	if len(r.byResource) != maxRefusedReads || r.describe(now, refusedOften) == "" {
		t.Errorf("%d resources: %s", len(r.byResource), r.describe(now, refusedOften))
	}
	now = now.Add(refusedTime + 1)
	refuse("configmaps")
	if got := r.describe(now, refusedOften); !strings.Contains(got, "list of configmaps is refused: no") {
		t.Errorf("got %q", got)
	}
}
