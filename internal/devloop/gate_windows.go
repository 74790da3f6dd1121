package devloop

// Gate holds the program of a command "go run" once it is compiled. Windows has none: it
// has no named pipes that a script could read.
type Gate struct{}

// NewGate returns nil.
func NewGate(string, chan struct{}) (*Gate, error) { return nil, nil }

// ExecFlag is not called.
func (*Gate) ExecFlag() string { return "" }

// Open does nothing.
func (*Gate) Open() error { return nil }

// Close does nothing.
func (*Gate) Close() error { return nil }
