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
			"problem: key does not match"},
		{"progress of a verbosity that zap has no name for", `{"level":"error","msg":"problem","error":"key does not match","stacktrace":"main.main"}` + "\n" + `{"level":"Level(-2)","msg":"Reconcile ClusterQueue"}` + "\n",
			"problem: key does not match"},
		{"only progress, as JSON", `{"level":"Level(-2)","ts":"2026-01-02T03:04:05Z","msg":"Reconcile ClusterQueue"}` + "\n", "Reconcile ClusterQueue"},
		{"an error of zerolog", `{"level":"fatal","error":"refused","message":"cannot start"}` + "\n", "cannot start: refused"},
		{"an error of pino as JSON", `{"level":50,"msg":"cannot start","err":{"type":"Error","message":"connect ECONNREFUSED 127.0.0.1:5432","stack":"Error: …"}}` + "\n", "cannot start: connect ECONNREFUSED 127.0.0.1:5432"},
		{"an error of pino without a message of its own", `{"level":50,"err":{"type":"Error","message":"bad password"},"msg":"bad password"}` + "\n", "bad password"},
		{"an error of slog as JSON, with other fields", `{"level":"ERROR","msg":"cannot start","err":{"code":5}}` + "\n", "cannot start"},
		{"JSON without a message", `{"level":"error","reason":"x"}` + "\n", `{"level":"error","reason":"x"}`},
		{"JSON that was cut", `{"level":"error","msg":"cannot st` + "\n", `{"level":"error","msg":"cannot st`},
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
		{"an error of Node.js", nodeError, "TypeError: Cannot read properties of undefined (reading 'b')"},
		{"an error of a client library of Node.js, with fields", nodeRejection, "ApiException [Error]: HTTP-Code: 403"},
		{"a rejected promise of Node.js", nodePromise, `UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "5".`},
		{"a missing module of Node.js", nodeModule, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nix' imported from /x/m.mjs"},
		{"a text that Node.js was thrown", nodeText, "text"},
		{"an exit of Node.js after an error that was logged", "Error: not the reason\n    at main.js:1:2\noperator: cannot start\n", "operator: cannot start"},
		{"an exception of Python with a message of several lines, and an earlier one", pythonError, "ApiException: (403)"},
		{"a missing module of Python", "Traceback (most recent call last):\n  File \"/x/b.py\", line 1, in <module>\n    import nix\nModuleNotFoundError: No module named 'nix'\n",
			"ModuleNotFoundError: No module named 'nix'"},
		{"a syntax error of Python", "  File \"/x/d.py\", line 1\n    def\n       ^\nSyntaxError: invalid syntax\n", "SyntaxError: invalid syntax"},
		{"an exception of Python that was logged, long before the end", pythonError + strings.Repeat("working\n", 5) + "operator: cannot go on\n", "operator: cannot go on"},
		{"an exception of Java", javaError, `Exception in thread "main" java.lang.IllegalStateException: cannot start`},
		{"a missing class of Java", "Error: Could not find or load main class Operator\nCaused by: java.lang.ClassNotFoundException: Operator\n",
			"Error: Could not find or load main class Operator"},
		{"only of the go command", "exit status 1\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := TellingLine(strings.Split(tt.output, "\n")); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Output of Node.js 20, Python 3.11 and Java 17; stack traces are shortened.
const (
	nodeError = `/x/t.js:1
const a = undefined; a.b
                       ^

TypeError: Cannot read properties of undefined (reading 'b')
    at Object.<anonymous> (/x/t.js:1:24)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2
`
	nodeRejection = `file:///x/node_modules/@kubernetes/client-node/dist/object.js:448
        throw new ApiException(response.httpStatusCode, 'Unsuccessful HTTP Request', await response.getBodyAsAny(), response.headers);
              ^

ApiException [Error]: HTTP-Code: 403
Message: Unsuccessful HTTP Request
Body: "{\"kind\":\"Status\"}"
Headers: {"connection":"close"}
    at KubernetesObjectApi.processResponse (file:///x/node_modules/@kubernetes/client-node/dist/object.js:448:15)
    at async reconcile (file:///x/operator.js:51:3) {
  code: 403,
  headers: {
    connection: 'close'
  }
}

Node.js v20.20.2
`
	nodePromise = `node:internal/process/promises:389
      new UnhandledPromiseRejection(reason);
      ^

UnhandledPromiseRejection: This error originated either by throwing inside of an async function without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected with the reason "5".
    at throwUnhandledRejectionsMode (node:internal/process/promises:389:7) {
  code: 'ERR_UNHANDLED_REJECTION'
}

Node.js v20.20.2
`
	nodeModule = `node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'nix' imported from /x/m.mjs
    at packageResolve (node:internal/modules/esm/resolve:873:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2
`
	nodeText = "\n/x/s.js:1\nthrow \"text\"\n^\ntext\n(Use `node --trace-uncaught ...` to show where the exception was thrown)\n\nNode.js v20.20.2\n"

	pythonError = `Traceback (most recent call last):
  File "/x/a.py", line 6, in <module>
    {}["x"]
    ~~^^^^^
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x/a.py", line 8, in <module>
    f()
ApiException: (403)
Reason: Forbidden
HTTP response headers: HTTPHeaderDict({'a': 'b'})
HTTP response body: {"kind":"Status"}

`
	javaError = `Exception in thread "main" java.lang.IllegalStateException: cannot start
second
	at A.main(A.java:1)
Caused by: java.lang.NullPointerException: Cannot invoke "Object.hashCode()" because "<local1>" is null
	at A.main(A.java:1)
`
)
