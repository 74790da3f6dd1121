package parallel

import (
	"fmt"
	"sync"
	"testing"
)

func TestFor(t *testing.T) {
	var all sync.WaitGroup // none of the calls returns before the others have begun
	all.Add(4)
	err := For(4, func(i int) error {
		all.Done()
		all.Wait()
		if i%2 == 1 {
			return fmt.Errorf("%d failed", i)
		}
		return nil
	})
	if err == nil || err.Error() != "1 failed\n3 failed" {
		t.Errorf("got %v", err)
	}
	if err := For(0, nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}
