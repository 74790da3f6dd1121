package stopevent

import (
	"os"
	"testing"
)

func TestRequest(t *testing.T) {
	const systemIdle = 0 // this process listens in a second run of the test
	if Request(systemIdle) == nil {
		t.Error("a process that does not listen was asked to end")
	}
	requested := Requested()
	for range 2 { // the second time it is a request that was made already
		if err := Request(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	<-requested
}
