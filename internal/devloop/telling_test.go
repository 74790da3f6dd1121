package devloop

import (
	"strings"
	"testing"
)

func TestTellingLine(t *testing.T) {
	for _, tt := range []struct{ name, output, want string }{
		{"nothing", "", ""},
		{"a compiler error", "# example.com/operator\n./controller.go:41:2: undefined: x\n./controller.go:42:9: too many errors\n", "./controller.go:41:2: undefined: x"},
		{"a module error", "go: downloading k8s.io/api v0.37.1\nmain.go:4:2: no required module provides package example.com/x; to add it:\n\tgo get example.com/x\n",
			"main.go:4:2: no required module provides package example.com/x; to add it:"},
		{"a panic", "starting\npanic: runtime error: invalid memory address or nil pointer dereference\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:7 +0x18\nexit status 2\n",
			"panic: runtime error: invalid memory address or nil pointer dereference"},
		{"a panic after lines of a logger", "main.go:12: starting\n/x/main.go:13: started\npanic: oh\n\ngoroutine 1 [running]:\nexit status 2\n", "panic: oh"},
		{"the last line of a logger", "main.go:12: starting\nmain.go:30: cannot connect: connection refused\nexit status 1\n", "main.go:30: cannot connect: connection refused"},
		{"a last line", "starting\noperator: cannot connect: connection refused\nexit status 1\n", "operator: cannot connect: connection refused"},
		{"an error before the end, as JSON", `{"level":"error","msg":"problem","error":"key does not match"}` + "\n" + `{"level":"info","msg":"disabling controllers..."}` + "\n",
			`{"level":"error","msg":"problem","error":"key does not match"}`},
		{"an error before the end, of controller-runtime", "2026-01-02T03:04:05Z\tERROR\tsetup\tcannot start\nmain.main\n\t/x/main.go:7\n2026-01-02T03:04:05Z\tINFO\tstopping\n",
			"2026-01-02T03:04:05Z\tERROR\tsetup\tcannot start"},
		{"an error before the end, of klog", "E0102 03:04:05.000000       1 main.go:7] cannot start\nI0102 03:04:05.000000       1 main.go:9] stopping\n",
			"E0102 03:04:05.000000       1 main.go:7] cannot start"},
		{"an error before the end, of slog", "time=2026-01-02T03:04:05Z level=ERROR msg=\"cannot start\"\ntime=2026-01-02T03:04:05Z level=INFO msg=stopping\n",
			"time=2026-01-02T03:04:05Z level=ERROR msg=\"cannot start\""},
		{"an error before the end, of logrus", "time=\"2026-01-02 03:04:05\" level=fatal msg=\"cannot start\"\nlevel=info msg=stopping\n",
			"time=\"2026-01-02 03:04:05\" level=fatal msg=\"cannot start\""},
		{"an option that looks like a level", "E0102 03:04:05.000000       1 main.go:7] trying again\ninvalid argument --log-level=info\n", "invalid argument --log-level=info"},
		{"progress without an error", "I0102 03:04:05.000000       1 main.go:9] stopping\n", "I0102 03:04:05.000000       1 main.go:9] stopping"},
		{"an error after an earlier one", "E0102 03:04:05.000000       1 main.go:7] trying again\noperator: cannot start\n", "operator: cannot start"},
		{"only of the go command", "exit status 1\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := TellingLine(strings.Split(tt.output, "\n")); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
