package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// finalizer keeps a Site until its host is released: the registry is in another
// namespace, so owner references cannot be used.
const finalizer = "example.com/registered"

// hosts is the registry: it maps hosts to the Sites that own them.
var hosts = client.ObjectKey{Namespace: "registry", Name: "hosts"}

// reconciler reconciles Sites.
type reconciler struct{ client.Client }

func (r *reconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Site{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site Site
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.releaseHost(ctx, &site)
	}
	if controllerutil.AddFinalizer(&site, finalizer) {
		if err := r.Update(ctx, &site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.registerHost(ctx, &site); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.applyDeployment(ctx, &site)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.applyService(ctx, &site); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.updateStatus(ctx, &site, deployment)
}

// registerHost registers the host for the site, unless it belongs to another one.
func (r *reconciler) registerHost(ctx context.Context, site *Site) error {
	var registry corev1.ConfigMap
	if err := r.Get(ctx, hosts, &registry); err != nil {
		return err
	}
	who := site.Namespace + "/" + site.Name
	switch registry.Data[site.Spec.Host] {
	case who:
		return nil
	case "":
	default:
		return fmt.Errorf("host %s belongs to site %s", site.Spec.Host, registry.Data[site.Spec.Host])
	}
	if registry.Data == nil {
		registry.Data = map[string]string{}
	}
	registry.Data[site.Spec.Host] = who
	return r.Update(ctx, &registry) // retried after a conflict
}

// releaseHost removes the host of a deleted site from the registry.
func (r *reconciler) releaseHost(ctx context.Context, site *Site) error {
	var registry corev1.ConfigMap
	if err := r.Get(ctx, hosts, &registry); err != nil {
		return err
	}
	if registry.Data[site.Spec.Host] == site.Namespace+"/"+site.Name {
		delete(registry.Data, site.Spec.Host)
		if err := r.Update(ctx, &registry); err != nil {
			return err
		}
	}
	if controllerutil.RemoveFinalizer(site, finalizer) {
		return client.IgnoreNotFound(r.Update(ctx, site))
	}
	return nil
}

func (r *reconciler) applyDeployment(ctx context.Context, site *Site) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, d, func() error {
		labels := map[string]string{"site": site.Name}
		d.Spec.Replicas = &site.Spec.Replicas
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels = labels
		if len(d.Spec.Template.Spec.Containers) == 0 {
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
		}
		d.Spec.Template.Spec.Containers[0].Image = site.Spec.Image
		return controllerutil.SetControllerReference(site, d, r.Scheme())
	})
	return d, err
}

func (r *reconciler) applyService(ctx context.Context, site *Site) error {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, s, func() error {
		s.Spec.Selector = map[string]string{"site": site.Name}
		s.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(80)}}
		return controllerutil.SetControllerReference(site, s, r.Scheme())
	})
	return err
}

// updateStatus writes whether the site is ready.
func (r *reconciler) updateStatus(ctx context.Context, site *Site, d *appsv1.Deployment) error {
	c := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "RollingOut", ObservedGeneration: site.Generation,
		Message: fmt.Sprintf("%d of %d Pods are ready", d.Status.ReadyReplicas, site.Spec.Replicas)}
	if d.Status.ObservedGeneration == d.Generation && d.Status.UpdatedReplicas == site.Spec.Replicas && d.Status.ReadyReplicas == site.Spec.Replicas {
		c.Status, c.Reason = metav1.ConditionTrue, "RolledOut"
	}
	changed := meta.SetStatusCondition(&site.Status.Conditions, c)
	if !changed && site.Status.ObservedGeneration == site.Generation {
		return nil
	}
	site.Status.ObservedGeneration = site.Generation
	return r.Status().Update(ctx, site)
}
