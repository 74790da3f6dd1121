package procstat

import "time"

// Usage is what a process uses; a field is 0 where the system does not report it.
type Usage struct {
	Memory int64         // resident bytes
	CPU    time.Duration // since its start
}
