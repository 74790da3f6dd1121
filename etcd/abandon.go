package etcd

import "context"

// abandonable calls a function of the member in another goroutine and returns when the
// lifetime ends, even if the function does not. A fatal error leaves locks of the
// member locked, and no context ends the wait for these.
func abandonable[T any](l *lifetime, call func() (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	var none T
	if err := context.Cause(l); err != nil {
		return none, err
	}
	answer := make(chan result, 1)
	l.calls.run(l, func() {
		defer func() {
			if p := recover(); p != nil { // not after a fatal error, which ends the lifetime
				answer <- result{panicked: p}
			}
		}()
		value, err := call()
		answer <- result{value: value, err: err}
	})
	select {
	case r := <-answer:
		if r.panicked != nil && l.closing.Load() { // it has met a store that is closed already
			return none, errClosed
		}
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.value, r.err
	case <-l.Done():
		return none, context.Cause(l)
	}
}
