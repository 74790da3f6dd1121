package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/kwok/kustomize/crd"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/yaml"

	"github.com/ctrlplane/ctrlplane/internal/listwatch"
)

const stageResource = "stages.kwok.x-k8s.io"

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// stageClients are the clients for Stage objects, and for what these apply; the zero value means
// that there are none.
type stageClients struct {
	dynamic dynamic.Interface
	mapper  meta.RESTMapper
	kwok    versioned.Interface
}

func newStageClients(cfg *rest.Config) (c stageClients, err error) {
	if c.dynamic, err = dynamic.NewForConfig(cfg); err != nil {
		return c, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return c, err
	}
	c.mapper = newStageMapper(kinds)
	c.kwok, err = versioned.NewForConfig(cfg)
	return c, err
}

// stageMapper discovers kinds again when one is unknown: its definition may be new. The mapper of
// client-go does so only until the first answer.
type stageMapper struct{ meta.ResettableRESTMapper }

func newStageMapper(kinds discovery.DiscoveryInterface) stageMapper {
	return stageMapper{restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}
}

// RESTMapping implements meta.RESTMapper.
func (m stageMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, err := m.ResettableRESTMapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		m.Reset()
		return m.ResettableRESTMapper.RESTMapping(kind, versions...)
	}
	return found, err
}

// stageCRDInterval is the time between two attempts to create the Stage resource.
const stageCRDInterval = 2 * time.Second

// maxStageWait is how long the kubelets wait for the Stages of users when they start: the default behaviour of a Pod that
// a Stage holds cannot be undone.
const maxStageWait = 10 * time.Second

// watchStages creates the Stage resource if it does not exist, and then follows its
// objects until the context ends.
func (s *simulation) watchStages(c stageClients) {
	timer := time.AfterFunc(maxStageWait, s.markStagesKnown)
	defer timer.Stop()
	warned := false
	err := wait.PollUntilContextCancel(s.ctx, stageCRDInterval, true, func(ctx context.Context) (bool, error) {
		err := ensureStageCRD(ctx, c.dynamic, s.markStagesKnown)
		if err != nil && ctx.Err() == nil && !warned {
			s.log.Warn("Stage objects are ignored until their CRD exists: retrying", "err", err)
			warned = true
		}
		return err == nil, nil
	})
	if err != nil { // the context has ended
		return
	}
	from := cache.ToListWatcherWithWatchListSemantics(listwatch.New(c.kwok.KwokV1alpha1().Stages(), "", ""), s.client)
	s.registry.played.recorder.AddWatch(stageResource)
	cache.NewReflectorWithOptions(from, &v1alpha1.Stage{}, stageFeed{s}, cache.ReflectorOptions{Name: component + "/stages"}).RunWithContext(s.ctx)
}

// ensureStageCRD creates kwok's CRD, after a call of missing, and returns when the resource is served.
func ensureStageCRD(ctx context.Context, client dynamic.Interface, missing func()) error {
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(crd.Stage, &definition.Object); err != nil {
		return fmt.Errorf("parse kwok's CRD of Stage: %w", err)
	}
	api := client.Resource(crdResource)
	_, err := api.Get(ctx, definition.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		missing()
		_, err = api.Create(ctx, definition, metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the CRD of Stage: %w", err)
	}
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, definition.GetName()).String()
	from := cache.ToListWatcherWithWatchListSemantics(listwatch.New(api, "", only), client)
	_, err = watchtools.UntilWithSync(ctx, from, &unstructured.Unstructured{}, nil, isEstablished)
	if err != nil {
		return fmt.Errorf("wait for the CRD of Stage: %w", err)
	}
	return nil
}

func isEstablished(e watch.Event) (bool, error) {
	object, ok := e.Object.(*unstructured.Unstructured)
	if !ok || e.Type == watch.Deleted {
		return false, errors.New("the CRD was deleted")
	}
	var definition apiextensionsv1.CustomResourceDefinition
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &definition)
	return apihelpers.IsCRDConditionTrue(&definition, apiextensionsv1.Established), err
}

// stageFeed is the store of a reflector. It keeps the Stage objects in the stageSet.
type stageFeed struct{ *simulation }

var _ cache.ReflectorStore = stageFeed{}

// Add implements cache.ReflectorStore.
func (f stageFeed) Add(obj any) error {
	changed, err := f.addStage(obj)
	if changed {
		f.reprocess()
	}
	return err
}

// reprocess applies a change of the stages to the Nodes and Pods that exist.
func (f stageFeed) reprocess() {
	f.nodes.reprocess()
	f.reprocessPods("")
}

func (f stageFeed) addStage(obj any) (changed bool, err error) {
	stage, ok := obj.(*v1alpha1.Stage)
	if !ok {
		return false, fmt.Errorf("the watch of stages delivered a %T", obj)
	}
	changed, invalid := f.stages.set(stage)
	if invalid != nil {
		f.reportIgnoredStage(stageReference(stage), invalid)
	}
	return changed, nil
}

// stageReference returns what an event about a Stage is about.
func stageReference(stage *v1alpha1.Stage) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.StageKind,
		Name: stage.Name, UID: stage.UID, ResourceVersion: stage.ResourceVersion,
	}
}

// ignoreEndlessStage is called when a stage that was set is ignored from now on, in the middle of an update of a feed. The
// other objects that it is played for are processed after that.
func (s *simulation) ignoreEndlessStage(stage *corev1.ObjectReference, why error) {
	s.reportIgnoredStage(stage, why)
	s.wg.Go(stageFeed{s}.reprocess)
}

func (s *simulation) reportIgnoredStage(stage *corev1.ObjectReference, why error) {
	s.log.Warn("a stage is ignored", "err", why)
	s.recorder.Event(stage, corev1.EventTypeWarning, "InvalidStage", why.Error())
}

// Update implements cache.ReflectorStore.
func (f stageFeed) Update(obj any) error { return f.Add(obj) }

// Delete implements cache.ReflectorStore.
func (f stageFeed) Delete(obj any) error {
	stage, ok := obj.(*v1alpha1.Stage)
	if !ok {
		return fmt.Errorf("the watch of stages delivered a %T", obj)
	}
	f.stages.remove(stage.Name)
	f.reprocess()
	return nil
}

// Replace implements cache.ReflectorStore.
func (f stageFeed) Replace(list []any, _ string) error {
	present, changed := map[string]bool{}, false
	for _, obj := range list {
		isNew, err := f.addStage(obj)
		if err != nil {
			return err
		}
		changed = changed || isNew
		present[obj.(*v1alpha1.Stage).Name] = true
	}
	f.markStagesKnown()
	for _, name := range f.stages.names() {
		if !present[name] {
			f.stages.remove(name)
			changed = true
		}
	}
	if changed {
		f.reprocess()
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (f stageFeed) Resync() error { return nil }
