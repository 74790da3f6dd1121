package observe

import "testing"

// TestObjectWithoutKindNamesItsGroup: two groups may have the same plural.
func TestObjectWithoutKindNamesItsGroup(t *testing.T) {
	for want, o := range map[string]Object{
		"services shop/a":                     {Resource: "services", Namespace: "shop", Name: "a"},
		"services.serving.example.com shop/a": {Group: "serving.example.com", Resource: "services", Namespace: "shop", Name: "a"},
		"Service shop/a":                      {Group: "serving.example.com", Resource: "services", Kind: "Service", Namespace: "shop", Name: "a"},
		"pods in shop":                        {Resource: "pods", Namespace: "shop"},
	} {
		if got := o.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
