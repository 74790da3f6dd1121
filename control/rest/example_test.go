package rest_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/control/rest"
)

// Hold the writes of a controller of a running control plane, and release one.
func ExampleNewClient() { //nolint:testableexamples // its output needs a control plane
	ctx := context.Background()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")) // as "ctrlplane run" sets it
	if err != nil {
		log.Fatal(err)
	}
	client, err := rest.NewClient(cfg)
	if err != nil {
		log.Fatal(err)
	}
	interventions := client.Interventions()
	if _, err := interventions.Pause(ctx, []string{"deployment"}); err != nil {
		log.Fatal(err)
	}
	stepped, err := interventions.Step(ctx, "deployment")
	if err != nil {
		log.Fatal(err)
	}
	if stepped != nil { // nil if it has not written within control.StepTimeout
		fmt.Println(stepped)
	}
	if _, err := interventions.Resume(ctx, []string{"deployment"}); err != nil {
		log.Fatal(err)
	}
}
