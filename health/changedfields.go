package health

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/fieldpaths"
	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ChangedFields returns the paths of the fields that the write of a version of an object has changed, except for those that
// follow from each write. The storage still has both versions for some minutes.
func (w *Waiter) ChangedFields(ctx context.Context, o observe.Object, version string) ([]string, error) {
	ctx = requestlog.Discard(ctx)
	number, err := strconv.ParseUint(version, 10, 63)
	if err != nil || number < 2 {
		return nil, fmt.Errorf("health: %s: version %q has none before", o, version)
	}
	m, err := kinds.NewMapper(w.kinds).Find(ctx, o.GroupResource())
	if err != nil {
		return nil, fmt.Errorf("health: %s: %w", o, err)
	}
	var states [2]map[string]any
	for i, at := range []uint64{number - 1, number} {
		u, err := objectclients.At(w.objects, strconv.FormatUint(at, 10)).Resource(m.Resource).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("health: %s in version %d: %w", o, at, err)
		}
		states[i] = u.Object
	}
	fields, err := fieldpaths.Changed(states[0], states[1])
	return slices.DeleteFunc(fields, func(path string) bool {
		return path == "metadata.resourceVersion" || path == "metadata.generation" || strings.HasPrefix(path, "metadata.managedFields")
	}), err
}
