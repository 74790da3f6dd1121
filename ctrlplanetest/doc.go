// Package ctrlplanetest runs a real Kubernetes control plane for Go tests: API
// server, every controller, scheduler and simulated nodes, in about a second and
// without a network.
//
//	func TestMain(m *testing.M) { ctrlplanetest.Main(m) }
//
//	func TestRollout(t *testing.T) {
//		cp := ctrlplanetest.Shared(t)
//		cp.Namespace(t)
//		web := cp.Apply(t, "testdata/web.yaml")
//		cp.WaitHealthy(t, web...)
//	}
//
// Shared is one control plane for all tests of a package, kept apart by
// namespaces (Namespace) or by going back to how it was (Isolate); Start is one for
// a single test. A test that fails prints what the controllers did in its namespace.
//
// By default an installed ctrlplane program is started, and this package links
// client libraries only. It is $CTRLPLANE, or the ctrlplane in PATH. Package
// inprocess has a Backend that runs the same in the test's own process, for which it
// links Kubernetes' server. A control plane never outlives the process of its
// tests, even if that is killed.
//
// All methods may be called by parallel tests. Those that take a testing.TB fail
// that test at once, so they are for its own goroutine; they may be called in
// Cleanup, too. Each waits for Options.Timeout at most, and says what it waited for in vain.
package ctrlplanetest
