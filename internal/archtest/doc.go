// Package archtest holds the tests of the architecture: who may import whom, and
// where the code relies on what upstream does not promise.
package archtest
