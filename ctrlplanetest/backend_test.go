package ctrlplanetest

import "context"

// backend fails to start.
type backend func() error

func (b backend) Start(context.Context, Options) (Running, error) { return nil, b() }
