// Package parallel does the same to several things at once.
package parallel

import (
	"errors"
	"sync"
)

// For calls do with each of the numbers below n, all at the same time, and returns when all calls
// have. Their errors are joined in the order of the numbers.
func For(n int, do func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = do(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
