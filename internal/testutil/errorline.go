package testutil

import (
	"strings"
	"testing"
)

// ErrorLine returns the message of an error, and fails the test unless it is one line.
func ErrorLine(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if strings.ContainsAny(err.Error(), "\r\n") {
		t.Errorf("more than one line: %q", err)
	}
	return err.Error()
}
