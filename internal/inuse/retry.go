package inuse

import "time"

const (
	// retryTimeout is how long to wait for other processes to close a file. Those that read
	// one of ours, such as "ctrlplane status", have it open for microseconds.
	retryTimeout  = time.Second
	retryInterval = 5 * time.Millisecond
)

// Retry calls change again, for up to a second, as long as it fails because another process has
// a file open that does not allow it. That happens only on Windows.
func Retry(change func() error) error { return retry(change, isBusy) }

func retry(change func() error, isBusy func(error) bool) error {
	deadline := time.Now().Add(retryTimeout)
	for {
		err := change()
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(retryInterval)
	}
}
