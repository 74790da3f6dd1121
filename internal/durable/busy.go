package durable

import "time"

const (
	// busyTimeout is how long to wait for other processes to close a file. Those that read
	// one here, such as "ctrlplane status", have it open for microseconds.
	busyTimeout  = time.Second
	busyInterval = 5 * time.Millisecond
)

// whileBusy repeats a change of a file that fails because another process has the file
// open, which only Windows does: there, neither a rename nor a removal may replace it.
func whileBusy(change func() error) error { return retryBusy(change, isBusy) }

func retryBusy(change func() error, isBusy func(error) bool) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := change()
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(busyInterval)
	}
}
