// Package fakeapi is an API server for tests that holds a fixed set of objects.
package fakeapi

import (
	"encoding/json"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// Server lists its objects, and begins each watch with them. It serves all built-in kinds, and discovers Pods only.
type Server struct {
	Items map[string][]any // by kind

	kinds map[string]metav1.TypeMeta // by path
}

// New returns a server that has some Pods and nothing else.
func New(pods ...corev1.Pod) Server {
	s := Server{map[string][]any{}, map[string]metav1.TypeMeta{}}
	for _, p := range pods {
		s.Items["Pod"] = append(s.Items["Pod"], p)
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		gvr, _ := meta.UnsafeGuessKindToResource(gvk)
		prefix := "/apis/" + gvk.Group + "/"
		if gvk.Group == "" {
			prefix = "/api/"
		}
		apiVersion, kind := gvk.ToAPIVersionAndKind()
		s.kinds[prefix+gvk.Version+"/"+gvr.Resource] = metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
	}
	return s
}

// discovery is what controllers need that build a list of the kinds that they act on.
var discovery = map[string]any{
	"/api":  metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}},
	"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}},
	"/api/v1": metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: "v1",
		APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "watch"}},
		},
	},
}

func (s Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	out := json.NewEncoder(w)
	if found := discovery[req.URL.Path]; found != nil {
		_ = out.Encode(found)
		return
	}
	kind, ok := s.kinds[req.URL.Path]
	if !ok {
		http.NotFound(w, req)
		return
	}
	items := s.Items[kind.Kind]
	if req.URL.Query().Get("watch") == "" {
		_ = out.Encode(map[string]any{"apiVersion": kind.APIVersion, "kind": kind.Kind + "List",
			"metadata": metav1.ListMeta{ResourceVersion: "1"}, "items": items})
		return
	}
	if req.URL.Query().Get("sendInitialEvents") == "true" {
		for _, item := range items {
			_ = out.Encode(map[string]any{"type": "ADDED", "object": item})
		}
	}
	_ = out.Encode(map[string]any{"type": "BOOKMARK", "object": metav1.PartialObjectMetadata{
		TypeMeta: kind,
		ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: "1",
			Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		},
	}})
	w.(http.Flusher).Flush()
	<-req.Context().Done()
}
