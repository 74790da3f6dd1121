package ctrlplane_test

import (
	"context"
	"fmt"
	"log"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/observe"
)

// newDeployment returns a Deployment of one Pod.
func newDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
			},
		},
	}
}

// A control plane with two simulated nodes, on which Pods become ready.
func ExampleServer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	srv := &ctrlplane.Server{Nodes: ctrlplane.NodesConfig{Count: 2}}
	if err := srv.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()

	client, err := kubernetes.NewForConfig(srv.RESTConfig())
	if err != nil {
		log.Fatal(err)
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(nodes.Items), "nodes")
	// Output: 2 nodes
}

// The records show what the controllers did about an object.
func ExampleServer_Observer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	srv := &ctrlplane.Server{Nodes: ctrlplane.NodesConfig{Count: 1}}
	if err := srv.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	client, err := kubernetes.NewForConfig(srv.RESTConfig())
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, newDeployment("web"), metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}

	query := observe.Query{Controller: "deployment-controller", Kinds: []observe.Kind{observe.KindCalled}}
	for {
		page, err := srv.Observer().Records(ctx, query)
		if err != nil {
			log.Fatal(err)
		}
		for _, record := range page.Records {
			call := record.Event.(*observe.Called)
			if call.Verb == "create" {
				fmt.Println(call.Verb, call.Object.Resource)
				return
			}
		}
		query.After = page.Next
		if err := srv.Observer().Wait(ctx, page.Next); err != nil {
			log.Fatal(err)
		}
	}
	// Output: create replicasets
}

// A paused controller's writes are held until Step releases one, or Resume all.
func ExampleServer_Interventions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	srv := &ctrlplane.Server{}
	if err := srv.Start(ctx); err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	client, err := kubernetes.NewForConfig(srv.RESTConfig())
	if err != nil {
		log.Fatal(err)
	}

	interventions := srv.Interventions()
	if _, err := interventions.Pause(ctx, []string{"deployment"}); err != nil {
		log.Fatal(err)
	}
	if _, err := client.AppsV1().Deployments("default").Create(ctx, newDeployment("web"), metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	released, err := interventions.Step(ctx, "deployment")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(released.Verb, released.Object.Resource)
	// Output: create replicasets
}
