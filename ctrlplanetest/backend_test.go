package ctrlplanetest

import "context"

// failingBackend fails to start.
type failingBackend func() error

func (b failingBackend) Start(context.Context, Options) (Instance, error) { return nil, b() }
