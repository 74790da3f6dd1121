// Package controller has the controllers of the project.
package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	shopv1 "example.com/shop/api/v1"
)

// PageReconciler reconciles a Page object.
type PageReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=shop.example.com,resources=pages,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=shop.example.com,resources=pages/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get;list;watch;create;update;patch;delete

// Reconcile publishes the text of a Page in a ConfigMap.
func (r *PageReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	log := logf.FromContext(ctx)
	var page shopv1.Page
	if err := r.Get(ctx, req.NamespacedName, &page); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: page.Namespace, Name: page.Name}}
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, published, func() error {
		published.Data = map[string]string{"text": page.Spec.Text}
		return controllerutil.SetControllerReference(&page, published, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	log.Info("Published", "operation", done)
	if page.Status.ObservedGeneration == page.Generation {
		return ctrl.Result{}, nil
	}
	page.Status.ObservedGeneration = page.Generation
	return ctrl.Result{}, r.Status().Update(ctx, &page)
}

// SetupWithManager sets up the controller with the Manager.
func (r *PageReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&shopv1.Page{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		Named("page").
		Complete(r)
}
