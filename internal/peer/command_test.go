package peer

import (
	"strings"
	"testing"
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
		{"/usr/bin/python3.11", "python3 /venv/bin/kopf run -m handlers", "kopf"},
		{"/usr/bin/pypy3", "pypy3 operator.py", "operator.py"},

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
		{"/usr/bin/node", "node -e code", ""},
		{"/usr/bin/node", "node --eval=code op.js", ""},

		{"/opt/java/bin/java", "java -Dpassword=s3cret -cp a.jar:b.jar com.example.SiteOperator --token s3cret", "com.example.SiteOperator"},
		{"/opt/java/bin/java", "java -Xmx1g -jar target/op.jar --token s3cret", "op.jar"},
		{"/opt/java/bin/java", "java -jar target/quarkus-app/quarkus-run.jar", "shop"},
		{"/opt/java/bin/java", "java -p mods -m site/com.example.Main", "com.example.Main"},
		{"/opt/java/bin/java", "java @secret.args", ""},

		{"/srv/site-operator", "./site-operator --token s3cret", "site-operator"},
		{"/srv/site-operator", "/srv/shop-operator", "shop-operator"},
		{"/srv/site-operator", "", "site-operator"},
	} {
		c := command{executable: tt.executable, args: strings.Split(tt.args, " "), folder: "/home/me/shop"}
		if got := c.programName(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.args, got, tt.want)
		}
	}
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
