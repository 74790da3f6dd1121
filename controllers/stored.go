package controllers

import (
	"bytes"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/kubeapiserver"
)

// Stored is the resource, as RESOURCE or RESOURCE.GROUP, and the rest of a key in
// the API server's store; both are empty where it is none. The API server stores
// what is built in under the name of the resource, with a few exceptions, and
// all else under GROUP/RESOURCE.
func Stored(key []byte) (resource, name string) {
	rest, ok := bytes.CutPrefix(key, []byte("/registry/"))
	if !ok {
		return "", ""
	}
	first, rest, _ := bytes.Cut(rest, []byte("/"))
	if r := prefixes()[string(first)]; r != "" {
		return r, string(rest)
	}
	second, rest, _ := bytes.Cut(rest, []byte("/"))
	if r := prefixes()[string(first)+"/"+string(second)]; r != "" {
		return r, string(rest)
	}
	if bytes.IndexByte(first, '.') < 0 {
		return "", "" // the API server's own
	}
	return string(second) + "." + string(first), string(rest)
}

// prefixes are what the API server stores the built-in resources under.
var prefixes = sync.OnceValue(func() map[string]string {
	all := map[string]schema.GroupResource{}
	for gvr := range builtInKinds() {
		of := gvr.GroupResource()
		prefix := kubeapiserver.SpecialDefaultResourcePrefixes[of]
		if prefix == "" {
			prefix = strings.ToLower(of.Resource)
		}
		if known, ok := all[prefix]; !ok || old(known) && !old(of) || old(known) == old(of) && of.Group < known.Group {
			all[prefix] = of
		}
	}
	names := map[string]string{}
	for prefix, of := range all {
		names[prefix] = of.String()
	}
	return names
})

// old says whether a resource is stored under that of the group which took its place.
func old(of schema.GroupResource) bool { return of.Group == "extensions" }
