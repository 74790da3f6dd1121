package devloop

import (
	"strings"
	"testing"
)

func TestExecFlagIndex(t *testing.T) {
	for command, want := range map[string]int{
		"go run .":                     2,
		"/usr/local/go/bin/go run .":   2,
		"go.exe run ./cmd --exec-none": 2,
		"go run -C operator .":         4,
		"go run --C operator .":        4,
		"go run -C=operator .":         3,
		"go run -C":                    3,
		"go run -CC operator":          2,
		"go run -exec sudo .":          -1,
		"go run -exec=sudo .":          -1,
		"go run --exec=sudo .":         -1,
		"go run -race -exec sudo .":    -1,
		"go run":                       -1,
		"go test ./...":                -1,
		"./operator run .":             -1,
	} {
		if got := ExecFlagIndex(strings.Fields(command)); got != want {
			t.Errorf("%s: %d, want %d", command, got, want)
		}
	}
}
