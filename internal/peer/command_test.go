package peer

import (
	"strings"
	"testing"
	"unsafe"
)

func TestProgramName(t *testing.T) {
	for _, tt := range []struct{ executable, args, want string }{
		{"/usr/bin/python3.11", "python3 operator.py --token s3cret", "operator.py"},
		{"/usr/bin/python3.11", "/venv/bin/python -u /opt/site/operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 -m site_operator --token s3cret", "site_operator"},
		{"/usr/bin/python3.11", "python3 -Bum site_operator", "site_operator"},
		{"/usr/bin/python3.11", "python3 -msite.operator", "site.operator"},
		{"/usr/bin/python3.11", "python3 -W ignore -X dev -Werror operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 --check-hash-based-pycs never operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 -uc print(1) operator.py", ""},
		{"/usr/bin/python3.11", "python3 - operator.py", ""},
		{"/usr/bin/python3.11", "python3 /dev/fd/63 operator.py", ""},
		{"/usr/bin/python3.11", "python3", ""},
		{"/usr/bin/python3.11", "python3 -W", ""},
		{"/usr/bin/python3.11", "python3 -m", ""},
		{"/usr/bin/python3.11", "python3 main.py", "shop"},
		{"/usr/bin/python3.11", "python3 /home/me/venv/bin/app", "app"},
		{"/usr/bin/python3.11", "python3 -m unittest test_site", "unittest"},
		{"/usr/bin/python3.11", "python3 /venv/bin/kopf run -n default --standalone handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 -m kopf run ops/handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 /venv/bin/kopf run -m handlers", "handlers"},
		{"/usr/bin/python3.11", "python3 /venv/bin/kopf run -n default", "kopf"},
		{"/usr/bin/pypy3", "pypy3 operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 -m app.operator", "app.operator"},
		{"/usr/bin/python3.11", "python3 -m app.tests", "app.tests"},
		{"/usr/bin/python3.11", "python3 -m src", "src"},
		{"/usr/bin/python3.11", "python3 main.test.py", "main.test.py"},
		{"/usr/bin/python3.11", "python3 src/__main__.py", "shop"},
		{"/usr/bin/python3.14t", "python3.14t operator.py", "operator.py"},
		{"/usr/bin/python3.11-dbg", "python3.11-dbg operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 /ext/bundled/libs/debugpy --connect 127.0.0.1:4321 operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 -m site_operator --module s3cret", "site_operator"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 -m", "debugpy"},
		{"/usr/bin/python3.11", "python3 /pycharm/helpers/pydev/pydevd.py --client 127.0.0.1 --port 4321 --file /home/me/site/operator.py -m s3cret", "operator.py"},
		{"/usr/bin/python3.11", "python3 -m coverage run -m pytest test_site.py", "pytest"},
		{"/usr/bin/python3.11", "python3 -m pdb -c continue operator.py", "operator.py"},
		{"/usr/bin/python3.11", "python3 -m coverage run --branch main.py", "shop"},
		{"/usr/bin/python3.11", "python3 -m coverage run ./site-operator -m s3cret", "coverage"},
		{"/usr/bin/python3.11", "python3 -m coverage run -p --source site -m pytest", "pytest"},
		{"/usr/bin/python3.11", "python3 -m coverage run -m --branch s3cret.py", "coverage"},
		{"/usr/bin/python3.11", "python3 -m coverage report -m s3cret", "coverage"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 ./site-operator -m s3cret", "debugpy"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 ./site-operator s3cret.py", "debugpy"},
		{"/usr/bin/python3.11", "python3 -m debugpy --new value ./site-operator -m s3cret", "debugpy"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 -c code -m s3cret", "debugpy"},
		{"/usr/bin/python3.11", "python3 -m pdb ./site-operator -m s3cret", "pdb"},
		{"/usr/bin/python3.11", "python3 -m pdb -m site_operator -m s3cret", "site_operator"},
		{"/usr/bin/python3.11", "python3 /pycharm/pydevd.py --port 4321 --file ./site-operator -m s3cret", "pydevd.py"},
		{"/usr/bin/python3.11", "python3 inspect -m s3cret", "inspect"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 -m kopf run handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 -m debugpy --listen 5678 -m kopf run -n default -m handlers", "handlers"},
		{"/usr/bin/python3.11", "python3 /ext/libs/debugpy --connect :1 --configure-qt none --adapter-access-token s3cret /venv/bin/kopf run handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 /ext/libs/debugpy --connect :1 --configure-qt none --adapter-access-token s3cret -m kopf run handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 -m coverage run -m kopf run handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 -m coverage run -m kopf run -n default", "kopf"},
		{"/usr/bin/python3.11", "python3 -m kopf run --module handlers", "handlers"},
		{"/usr/bin/python3.11", "python3 -m kopf run --module=handlers", "handlers"},
		{"/usr/bin/python3.11", "python3 -m kopf run -A -Pdemo --liveness http://:8080/ handlers.py", "handlers.py"},
		{"/usr/bin/python3.11", "python3 my\toperator.py", "my_operator.py"},
		{"/usr/bin/python3.11", "python3 /tmp/31e7f83c-7e6c-4b02-a1f9-0d0f1c2b3a4d.py", ""},

		{"/usr/bin/node", "node op.mjs --token s3cret", "op.mjs"},
		{"/usr/bin/node", "node -r dotenv/config --env-file secret.env --enable-source-maps dist/op.js", "op.js"},
		{"/usr/bin/node", "node --import=tsx op.ts", "op.ts"},
		{"/usr/bin/node", "node --title=x -- op.js", "op.js"},
		{"/usr/bin/node", "node dist/index.js", "shop"},
		{"/usr/bin/node", "node .", "shop"},
		{"/usr/bin/node", "node dist", "shop"},
		{"/usr/bin/node", "node /srv/site-operator/build/src/main.js", "site-operator"},
		{"/usr/bin/node", "node /index.js", "index.js"},
		{"/usr/bin/node", "node /app/node_modules/.bin/ts-node --files src/op.ts", "op.ts"},
		{"/usr/bin/node", "node /app/node_modules/.bin/ts-node -P tsconfig.json -r ./hook.js src/op.ts", "op.ts"},
		{"/usr/bin/node", "node /app/node_modules/.bin/ts-node src/operator s3cret.ts", "ts-node"},
		{"/usr/bin/node", "node -e code", ""},
		{"/usr/bin/node", "node --eval=code op.js", ""},
		{"/usr/bin/node", "node app.js", "shop"},
		{"/usr/bin/node", "node app.test.js", "app.test.js"},
		{"/usr/bin/node", "node dist/main.spec.mjs", "main.spec.mjs"},
		{"/usr/bin/node", "node inspect op.js", "op.js"},
		{"/usr/bin/node", "node --trace-event-categories s3cret op.js", "op.js"},
		{"/usr/bin/node", "node --trace-event-categories s3cret", ""},
		{"/usr/bin/node", "node -r ./hook.js op.cjs", "op.cjs"},
		{"/usr/bin/node", "node --test --test-reporter ./report.mjs op.test.js", "op.test.js"},
		{"/usr/bin/node", "node bin/site-operator --config site.js", "site-operator"},
		{"/usr/bin/node20", "node20 op.js", "op.js"},

		{"/opt/java/bin/java", "java -Dpassword=s3cret -cp a.jar:b.jar com.example.SiteOperator --token s3cret", "com.example.SiteOperator"},
		{"/opt/java/bin/java", "java -Xmx1g -jar target/op.jar --token s3cret", "op.jar"},
		{"/opt/java/bin/java", "java -jar target/quarkus-app/quarkus-run.jar", "shop"},
		{"/opt/java/bin/java", "java -p mods -m site/com.example.Main", "com.example.Main"},
		{"/opt/java/bin/java", "java @secret.args", ""},
		{"/opt/java/bin/java", "java app.OperatorA", "app.OperatorA"},
		{"/opt/java/bin/java", "java -cp app.jar app.OperatorB", "app.OperatorB"},
		{"/opt/java/bin/java", "java -m site/app.Main", "app.Main"},
		{"/opt/java/bin/java", "java -jar -Xmx1g app.jar", "shop"},
		{"/opt/java/bin/java", "java org.springframework.boot.loader.launch.JarLauncher", ""},
		{"/opt/java/bin/java", "java org.codehaus.plexus.classworlds.launcher.Launcher", ""},
		{"/opt/java/bin/java", "java -jar target/surefire/surefirebooter-20241127194012345_3.jar target/surefire", ""},
		{"/opt/java/bin/java", "java -jar target/surefire/surefirebooter4562373856383472.jar target/surefire", ""},

		{"/usr/bin/ruby3.1", "ruby operator.rb", ""},
		{"/usr/bin/deno", "deno run op.ts", ""},
		{"/usr/bin/bun", "bun op.ts", ""},
		{"/usr/bin/dotnet", "dotnet Operator.dll", ""},

		{"/srv/site-operator", "./site-operator --token s3cret", "site-operator"},
		{"/srv/site-operator", "/srv/shop-operator", "shop-operator"},
		{"/srv/site-operator", "", "site-operator"},
		{"/srv/my operator", "", "my_operator"},
		{"/srv/python-operator", "./python-operator --token s3cret", "python-operator"},
		{"/tmp/__debug_bin1234567890", "./__debug_bin1234567890", "__debug_bin1234567890"},
		{"/srv/site-operator", "/proc/self/fd/7", ""},
	} {
		c := command{executable: tt.executable, args: strings.Split(tt.args, " "), folder: "/home/me/shop"}
		got := c.programName()
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.args, got, tt.want)
		}
		for _, arg := range c.args { // of a command line that can be long
			if sharesMemory(got, arg) {
				t.Errorf("%s: the name keeps the argument in memory", tt.args)
			}
		}
	}
}

// sharesMemory reports whether a text is a part of another one, not a copy.
func sharesMemory(part, whole string) bool {
	p, w := uintptr(unsafe.Pointer(unsafe.StringData(part))), uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	return part != "" && w <= p && p < w+uintptr(len(whole))
}

// TestReplacedCommandLine: a program can set the title that ps shows.
func TestReplacedCommandLine(t *testing.T) {
	for executable, want := range map[string]string{"/srv/site-operator": "site-operator", "/usr/bin/node": ""} {
		c := command{executable: executable, args: []string{"site-operator: serves with token /s3cret"}}
		if got := c.programName(); got != want {
			t.Errorf("%s: got %q, want %q", executable, got, want)
		}
	}
}
