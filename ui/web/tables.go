package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ctrlplane/ctrlplane/ui"
)

// tables is a module of the page: the short names of controllers, which are those of the terminal, and the built-in kinds.
var tables = sync.OnceValues(func() ([]byte, error) {
	names, err := json.Marshal(ui.ShortNames())
	if err != nil {
		return nil, err
	}
	kinds, err := json.Marshal(builtinKinds())
	return fmt.Appendf(nil, "export const shortNames = %s;\nexport const builtinKinds = %s;\n", names, kinds), err
})

// builtinKinds returns kinds by their resources, as RESOURCE.GROUP.
func builtinKinds() map[string]string {
	kinds := map[string]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == "__internal" || strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		kinds[resource.GroupResource().String()] = gvk.Kind
	}
	return kinds
}

func serveTables(w http.ResponseWriter, _ *http.Request) {
	module, err := tables()
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(module) // an error means that the page was closed
}
