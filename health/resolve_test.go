package health

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestRefsWaitsForNewKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		asked := 0
		c.kinds.PrependReactor("get", "group", func(clienttesting.Action) (bool, runtime.Object, error) {
			if asked++; asked == 3 {
				c.serve("example.com/v1", "widgets", "Widget", true)
			}
			return false, nil, nil
		})
		got, err := c.Refs(t.Context(), "shop", []string{"Widget/w"})
		if diff := cmp.Diff([]Ref{wid}, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestRefsRefusesUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for arg, want := range map[string]string{
			"gadget/g":      "gadget/g: unknown kind gadget: correct the name or install its CustomResourceDefinition",
			"deploymnt/web": `deploymnt/web: unknown kind deploymnt: did you mean "deployment"?`,
		} {
			began := time.Now()
			if _, err := newCluster(t).Refs(t.Context(), "shop", []string{"pod/p", arg}); err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if took := time.Since(began); took < newKindGrace || took > 2*newKindGrace {
				t.Errorf("took %v", took)
			}
		}
	})
}

// A wait that is shorter than the time a new kind may take says what was unknown.
func TestRefsUnknownKindUntilTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), newKindGrace/2)
		defer cancel()
		c := newCluster(t)
		c.kinds.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return ctx.Err() != nil, nil, ctx.Err() })
		if _, err := c.Refs(ctx, "shop", []string{"gadget/g"}); err == nil || !strings.Contains(err.Error(), "unknown kind gadget") {
			t.Errorf("got %v", err)
		}
	})
}

func TestRefsWithoutAnswer(t *testing.T) {
	c := newCluster(t)
	away := errors.New("connection refused")
	c.kinds.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, away })
	if _, err := c.Refs(t.Context(), "shop", []string{"pod/p"}); err == nil {
		t.Error("got no error")
	}
}
