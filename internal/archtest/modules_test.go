package archtest

import (
	"slices"
	"strings"
	"testing"
)

// testModules are the modules that ctrlplanetest links, also by the packages of this module that it imports, such as health. Those
// who use it have most of them anyway, with client-go.
var testModules = strings.Fields(`
	github.com/davecgh/go-spew github.com/emicklei/go-restful/v3 github.com/fxamacker/cbor/v2
	github.com/go-logr/logr github.com/go-openapi/jsonpointer github.com/go-openapi/jsonreference
	github.com/go-openapi/swag github.com/go-openapi/swag/cmdutils github.com/go-openapi/swag/conv
	github.com/go-openapi/swag/fileutils github.com/go-openapi/swag/jsonutils github.com/go-openapi/swag/loading
	github.com/go-openapi/swag/mangling github.com/go-openapi/swag/netutils github.com/go-openapi/swag/pools
	github.com/go-openapi/swag/stringutils github.com/go-openapi/swag/typeutils
	github.com/go-openapi/swag/yamlutils github.com/google/gnostic-models github.com/google/uuid
	github.com/json-iterator/go github.com/modern-go/concurrent github.com/modern-go/reflect2
	github.com/munnerz/goautoneg github.com/spf13/pflag github.com/x448/float16 go.yaml.in/yaml/v2
	go.yaml.in/yaml/v3 golang.org/x/net golang.org/x/oauth2 golang.org/x/sync golang.org/x/sys golang.org/x/term
	golang.org/x/text golang.org/x/time google.golang.org/protobuf gopkg.in/evanphx/json-patch.v4 gopkg.in/inf.v0
	k8s.io/api k8s.io/apiextensions-apiserver k8s.io/apimachinery k8s.io/client-go k8s.io/component-helpers
	k8s.io/klog/v2 k8s.io/kube-openapi k8s.io/utils sigs.k8s.io/cli-utils sigs.k8s.io/json sigs.k8s.io/randfill
	sigs.k8s.io/structured-merge-diff/v6 sigs.k8s.io/yaml
`)

// TestModulesOfTheTestLibrary keeps what the modules of users have to require small. The tests of this module would not fail with
// one more, as it requires everything.
func TestModulesOfTheTestLibrary(t *testing.T) {
	linked := strings.Fields(string(goList(t, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./ctrlplanetest")))
	slices.Sort(linked)
	linked = slices.DeleteFunc(slices.Compact(linked), isOurs)
	for _, m := range linked {
		if !slices.Contains(testModules, m) {
			t.Errorf("ctrlplanetest links packages of another module, %s: those that use it, such as tools and examples/operator, "+
				`do not compile until their own "go mod tidy". Do without it, or add it to testModules, and run that in both`, m)
		}
	}
	for _, m := range testModules {
		if !slices.Contains(linked, m) {
			t.Errorf("ctrlplanetest does not link the module %s: remove it from testModules", m)
		}
	}
}
