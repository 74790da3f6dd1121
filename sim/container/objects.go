package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/internal/listwatch"
	"github.com/ctrlplane/ctrlplane/sim/podconfig"
	"github.com/ctrlplane/ctrlplane/sim/shell"
)

// objects is what a session knows of the objects that Pods refer to. Its watches
// start when they are first needed.
type objects struct {
	s        *session
	services serviceStore
	feeds    struct{ services, configMaps, secrets, volumes *feed }

	mu         sync.Mutex
	dependents map[podconfig.Reference]map[types.UID]bool
	deleted    map[podconfig.Reference]metav1.Object // the last state of those that still have dependents
	claims     map[string]volumeData                 // by the name of the PersistentVolume
	hosts      map[string]*shell.Dir                 // by the name of the Node
	namespaces map[string]*namespaceUse
}

var _ podconfig.Source = (*objects)(nil)

func (o *objects) init(s *session) {
	o.s = s
	o.namespaces = map[string]*namespaceUse{}
	o.dependents, o.deleted = map[podconfig.Reference]map[types.UID]bool{}, map[podconfig.Reference]metav1.Object{}
	o.claims, o.hosts = map[string]volumeData{}, map[string]*shell.Dir{}
	core := s.client.CoreV1()
	o.feeds.services = &feed{
		name: "services", object: &corev1.Service{}, synced: make(chan struct{}),
		onChange: o.services.set, onList: o.services.replace,
		from: listwatch.New(core.Services(""), "", ""),
	}
	o.feeds.configMaps = &feed{
		name: "configmaps", object: &corev1.ConfigMap{}, synced: make(chan struct{}),
		onChange: func(m metav1.Object, deleted bool) { o.touch(false, m, deleted) }, onList: func(all []metav1.Object) { o.touchAll(false) },
		from: listwatch.New(core.ConfigMaps(""), "", ""),
	}
	o.feeds.secrets = &feed{
		name: "secrets", object: &corev1.Secret{}, synced: make(chan struct{}),
		onChange: func(m metav1.Object, deleted bool) { o.touch(true, m, deleted) }, onList: func(all []metav1.Object) { o.touchAll(true) },
		from: listwatch.New(core.Secrets(""), "", ""),
	}
	o.feeds.volumes = &feed{
		name: "persistentvolumes", object: &corev1.PersistentVolume{}, synced: make(chan struct{}),
		onChange: o.forgetVolume, onList: o.retainVolumes,
		from: listwatch.New(core.PersistentVolumes(), "", ""),
	}
}

// depend makes changes of an object reach a Pod. It returns when no later change can
// be missed.
func (o *objects) depend(ctx context.Context, uid types.UID, on podconfig.Reference) error {
	if err := o.addDependent(ctx, uid, on); err != nil {
		return err
	}
	if on.Secret {
		return o.feeds.secrets.await(ctx, o.s)
	}
	return o.feeds.configMaps.await(ctx, o.s)
}

func (o *objects) addDependent(ctx context.Context, uid types.UID, on podconfig.Reference) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ctx.Err() != nil { // the Pod may have been removed: forget does not come again
		return context.Cause(ctx)
	}
	if o.dependents[on] == nil {
		o.dependents[on] = map[types.UID]bool{}
	}
	o.dependents[on][uid] = true
	return nil
}

// forget ends what depend began for a Pod.
func (o *objects) forget(p *pod) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for on, pods := range o.dependents {
		delete(pods, p.uid)
		if len(pods) == 0 {
			delete(o.dependents, on)
			delete(o.deleted, on)
		}
	}
}

func (o *objects) touch(secret bool, object metav1.Object, deleted bool) {
	on := podconfig.Reference{Secret: secret, Namespace: object.GetNamespace(), Name: object.GetName()}
	o.mu.Lock()
	var pods []types.UID
	for uid := range o.dependents[on] {
		pods = append(pods, uid)
	}
	if delete(o.deleted, on); deleted && len(pods) > 0 {
		o.deleted[on] = object
	}
	o.mu.Unlock()
	o.s.sourcesChanged(pods)
}

func (o *objects) touchAll(secret bool) {
	o.mu.Lock()
	var pods []types.UID
	for on, dependent := range o.dependents {
		for uid := range dependent {
			if on.Secret == secret {
				pods = append(pods, uid)
			}
		}
	}
	o.mu.Unlock()
	o.s.sourcesChanged(pods)
}

// ConfigMap implements podconfig.Source.
func (o *objects) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	object, err := o.s.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	return object, kubeletError(err, "configmap", name)
}

// Secret implements podconfig.Source.
func (o *objects) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	object, err := o.s.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	return object, kubeletError(err, "secret", name)
}

// kubeletError returns the error of a kubelet's cache instead of the API server's.
func kubeletError(err error, resource, name string) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(corev1.Resource(resource), name)
	}
	return err
}

// startedSource is the source of containers that have started: an object that was deleted since then is as it was.
type startedSource struct{ *objects }

// ConfigMap implements podconfig.Source.
func (s startedSource) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	object, err := s.objects.ConfigMap(ctx, namespace, name)
	if was, ok := s.lastState(podconfig.Reference{Namespace: namespace, Name: name}).(*corev1.ConfigMap); ok && apierrors.IsNotFound(err) {
		return was, nil
	}
	return object, err
}

// Secret implements podconfig.Source.
func (s startedSource) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	object, err := s.objects.Secret(ctx, namespace, name)
	if was, ok := s.lastState(podconfig.Reference{Secret: true, Namespace: namespace, Name: name}).(*corev1.Secret); ok && apierrors.IsNotFound(err) {
		return was, nil
	}
	return object, err
}

// lastState returns the last state of an object that was deleted and that Pods depend on; nil if it is not known.
func (o *objects) lastState(on podconfig.Reference) metav1.Object {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.deleted[on]
}

// Services implements podconfig.Source.
func (o *objects) Services(ctx context.Context, namespace string) ([]*corev1.Service, error) {
	if err := o.feeds.services.await(ctx, o.s); err != nil {
		return nil, err
	}
	list := o.services.in(namespace)
	if master := o.services.get(metav1.NamespaceDefault, "kubernetes"); master != nil && namespace != metav1.NamespaceDefault {
		list = append(list, master)
	}
	return list, nil
}

// Token implements podconfig.Source.
func (o *objects) Token(ctx context.Context, namespace, serviceAccount string, request *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	made, err := o.s.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to fetch token: %w", err)
	}
	return made, nil
}

// TrustBundle implements podconfig.Source. The errors are those of the kubelet.
func (o *objects) TrustBundle(ctx context.Context, p *corev1.ClusterTrustBundleProjection) ([]byte, error) {
	api := o.s.client.CertificatesV1().ClusterTrustBundles()
	optional := ptr.Deref(p.Optional, false)
	if p.Name != nil {
		bundle, err := api.Get(ctx, *p.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) && optional:
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("while getting ClusterTrustBundle: %w", err)
		}
		return []byte(bundle.Spec.TrustBundle), nil
	}
	if p.SignerName == nil {
		return nil, errors.New("ClusterTrustBundle projection requires either name or signerName to be set")
	}
	selector, err := metav1.LabelSelectorAsSelector(p.LabelSelector) // nil selects nothing
	if err != nil {
		return nil, fmt.Errorf("while parsing label selector: %w", err)
	}
	list, err := api.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	found := false
	for i := range list.Items {
		if bundle := &list.Items[i]; bundle.Spec.SignerName == *p.SignerName && selector.Matches(labels.Set(bundle.Labels)) {
			all.WriteString(bundle.Spec.TrustBundle)
			found = true
		}
	}
	if !found && !optional {
		return nil, errors.New("combination of signerName and labelSelector matched zero ClusterTrustBundles")
	}
	return all.Bytes(), nil
}

// File implements podconfig.Source.
func (o *objects) File(ctx context.Context, of *corev1.Pod, volume, path string, limit int64) ([]byte, error) {
	s := o.s
	s.mu.Lock()
	p := s.pods[of.UID]
	if p == nil {
		s.mu.Unlock()
		return nil, errors.New("the pod was removed")
	}
	v, err := p.openVolumes()
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	dir, err := s.dir(ctx, of, p, v, volume)
	if err != nil {
		return nil, err
	}
	if dir.path != "" {
		path = dir.path + "/" + path
	}
	if info, err := dir.Stat(path); err == nil && info.Size() > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return dir.ReadFile(path)
}

// Allocatable implements podconfig.Source.
func (o *objects) Allocatable(_ context.Context, node string) (corev1.ResourceList, error) {
	return o.s.cfg.Allocatable(node), nil
}

// claim returns the data of a claim. It is kept as long as the volume that the claim
// is bound to exists, if it is not a path of the node. The checks and errors are those of the
// kubelet: a claim may name a volume that belongs to another.
func (o *objects) claim(ctx context.Context, node string, claim *corev1.PersistentVolumeClaim) (*volume, error) {
	if err := o.feeds.volumes.await(ctx, o.s); err != nil {
		return nil, err
	}
	name := claim.Spec.VolumeName
	if claim.Status.Phase != corev1.ClaimBound || name == "" {
		return nil, errors.New("PVC is not bound")
	}
	bound, err := o.s.client.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to fetch PV %s from API server: %w", name, err)
	}
	if bound.Spec.ClaimRef == nil || bound.Spec.ClaimRef.UID != claim.UID {
		return nil, fmt.Errorf("found PV object %s but its pv.Spec.ClaimRef does not point to claim.UID %s", name, claim.UID)
	}
	if bound.Spec.HostPath != nil {
		return o.hostDir(node, bound.Spec.HostPath)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	data := o.claims[name]
	if data.of != bound.UID || data.dir == nil {
		data = volumeData{bound.UID, shell.NewDir(maxVolumeBytes)}
		o.claims[name] = data
	}
	return &volume{Dir: data.dir}, nil
}

// volumeData is the data of a PersistentVolume. Another of the same name is empty.
type volumeData struct {
	of  types.UID
	dir *shell.Dir
}

// claimOf returns the claim of a volume of a Pod.
func (o *objects) claimOf(ctx context.Context, of *corev1.Pod, v *corev1.Volume) (*corev1.PersistentVolumeClaim, error) {
	name := ephemeral.VolumeClaimName(of, v)
	if v.PersistentVolumeClaim != nil {
		name = v.PersistentVolumeClaim.ClaimName
	}
	claim, err := o.s.client.CoreV1().PersistentVolumeClaims(of.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("failed to fetch PVC from API server: %w", err)
	}
	if v.Ephemeral != nil {
		if err := ephemeral.VolumeIsForPod(of, claim); err != nil {
			return nil, err
		}
	}
	return claim, nil
}

// forgetNode drops the folders of a node.
func (o *objects) forgetNode(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.hosts, name)
}

func (o *objects) forgetVolume(volume metav1.Object, deleted bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if deleted {
		delete(o.claims, volume.GetName())
	}
}

func (o *objects) retainVolumes(volumes []metav1.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	present := map[string]bool{}
	for _, v := range volumes {
		present[v.GetName()] = true
	}
	for name := range o.claims {
		if !present[name] {
			delete(o.claims, name)
		}
	}
}
