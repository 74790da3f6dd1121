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
// Shared returns one control plane for all tests of a package. Tests are isolated
// by namespaces (Namespace) or by restoring the state (Isolate). Start starts a
// control plane for a single test. A test that fails logs what the controllers did
// in its namespace.
//
// By default an installed ctrlplane program is started, $CTRLPLANE or ctrlplane in
// PATH, and this package links only client libraries. The package inprocess has a
// Backend that runs the control plane in the test's own process; it links the
// Kubernetes server. A control plane never outlives the process of its tests, even
// if that process is killed.
//
// All methods may be called by parallel tests. Methods that take a testing.TB fail
// that test with FailNow, so call them from the test's own goroutine; they may also
// be called in Cleanup. Each waits for at most Options.Timeout, and its failure says
// what it waited for.
package ctrlplanetest
