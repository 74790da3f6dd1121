package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// registrationInterval is the time between two attempts to create the nodes of a start.
const registrationInterval = 2 * time.Second

// register creates nodes until the fleet has count nodes. While the API server refuses
// one, as it does when a webhook is down, it keeps trying in the background, as kubelets
// do: warn receives the reason of the first refusal.
func (f *Fleet) register(ctx context.Context, count int, warn func(string)) error {
	if count == 0 {
		return nil
	}
	list, err := f.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: fleetLabel})
	if err != nil {
		return fmt.Errorf("simulated nodes: list nodes: %w", err)
	}
	missing := count - len(list.Items)
	created, err := f.createNodes(ctx, missing)
	if _, isUsage := errors.AsType[usage.Error](err); err == nil || isUsage || ctx.Err() != nil {
		return err
	}
	missing -= len(created)
	warn(fmt.Sprintf("cannot create %s: %v: retrying every %v%s", words.Count(missing, "simulated node"), err, registrationInterval, webhookAdvice(ctx, f.client, err)))
	f.simulation.wg.Go(func() { f.keepRegistering(f.simulation.ctx, missing) })
	return nil
}

// keepRegistering creates nodes until none is missing or ctx ends.
func (f *Fleet) keepRegistering(ctx context.Context, missing int) {
	log := f.simulation.log
	err := wait.PollUntilContextCancel(ctx, registrationInterval, false, func(ctx context.Context) (bool, error) {
		created, err := f.createNodes(ctx, missing)
		missing -= len(created)
		if err != nil {
			log.Debug("cannot create nodes: retrying", "missing", missing, "err", err)
		}
		return err == nil, nil
	})
	if err == nil {
		log.Info("the missing nodes were created")
	}
}
