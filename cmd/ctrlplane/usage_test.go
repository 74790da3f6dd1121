package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestUsageErrors has command lines that are wrong whatever the state of the machine. In place of
// an argument, "\x00" stands for an empty one, and "_" for a space in one.
func TestUsageErrors(t *testing.T) {
	for _, tc := range []struct{ args, says string }{
		{"uq", `did you mean "up"?`},
		{"pasue replicaset", `did you mean "controllers pause" or "clients pause"?`},
		{"held", `did you mean "controllers held" or "clients held"?`},
		{"fail x", `did you mean "controllers fail" or "clients fail" or "nodes fail"?`},
		{"create cluster", `did you mean "up"?`},
		{"get pods", `did you mean "kubectl get"?`},
		{"exec web -- sh", `did you mean "run" or "kubectl exec"?`},
		{"rollout restart", `did you mean "kubectl rollout"?`},
		{"start", `unknown verb "start": did you mean "up"?`},
		{"restart", `unknown verb "restart": use "down" and then "up"`},
		{"rstore base", `see "ctrlplane --help"`}, // what cannot be undone is not suggested for a typing error
		{"snapshot restroe base", `see "ctrlplane snapshot --help"`},
		{"restore base", `did you mean "snapshot restore"?`},
		{"nodes remov node-1", `see "ctrlplane nodes --help"`},
		{"controllers list extra", "takes no arguments"},
		{"--name red delete red", `leave the flag out: "ctrlplane delete red"`},
		{"up --no-such-flag", "unknown flag"},
		{"--nmae x status", `unknown flag: --nmae: see "ctrlplane --help"`},
		{"--name", "flag needs an argument"},
		{"up extra", "takes no arguments"},
		{"up --ephemeral --data-dir x", "use one of them"},
		{"up --ephemeral --service-cidr 1.2.3", "1.2.3"},
		{"up --ephemeral --pod-cidr zz", "zz"},
		{"up --bind-address nowhere", "not an IP address"},
		{"up --port 99999", "99999"},
		{"top --replay x --web --ui plain", "--replay with --web excludes --ui: "},
		{"up --ui nope", "auto, plain, json or none"},
		{"up --log-level nope", "debug, info, warn or error"},
		{"up --log-format nope", "text"},
		{"up --etcd-cafile x", "--etcd-endpoints"},
		{"up --etcd-endpoints http://127.0.0.1:1 --etcd-certfile x", "--etcd-keyfile"},
		{"--name Bad_Name up", "Bad_Name"},
		{"controllers -o xml", "xml"},
		{"version extra", "takes no arguments"},
		{"up -v -1", "-v -1"},
		{"up --observe-records 999999999999", "--observe-records 999999999999"},
		{"up --observe-records -2", "--observe-records -2"},
		{"up --host \x00", "--host: empty"},
		{"up --host a_b", `--host "a b"`},
		{"up --host a,*.evil", `--host "*.evil"`},
		{"up --host -", `--host "-"`},
		{"up --data-dir \x00", "--data-dir: empty"},
		{"--data-dir \x00 up", "--data-dir: empty"},
		{"up --etcd-endpoints \x00", "--etcd-endpoints: empty"},
		{"up --etcd-endpoints http://127.0.0.1:1,,", "--etcd-endpoints: empty"},
		{"up --log-file \x00", "--log-file: empty"},
		{"up --controllers \x00", "--controllers: empty"},
		{"up -f \x00", "--manifests: empty"},
		{"up --name \x00", "--name: empty"},
		{"up --node-memory 1e30", `--node-memory "1e30"`},
		{"up --node-cpu 0", `--node-cpu "0"`},
		{"up --node-label x", "key=value"},
		{"up --node-taint x", `node taint "x"`},
		{"up --node-zones 99", "99 zones"},
		{"up --node-zones 99999999999999999999", `--node-zones "99999999999999999999": choose 1 to 26`},
		{"up --nodes abc", `--nodes "abc": not a whole number: see "ctrlplane up --help"`},
		{"up --nodes 99999999999999999999", `--nodes "99999999999999999999": out of range: see "ctrlplane up --help"`},
		{"wait settled --timeout 5", `--timeout "5": not a duration such as 30s or 2m: see "ctrlplane wait settled --help"`},
		{"up --service-cidr 10.0.0.0/16 --pod-cidr 10.0.0.0/16", "overlaps"},
		{"up --service-cidr 10.0.0.0/16 --pod-cidr 10.0.0.0/8", "overlaps"},
		{"up --pod-cidr 10.1.0.0/16,10.2.0.0/16", "same IP family"},
		{"up --from Bad_Name", "--from"},
		{"up --from no-such-snapshot", "no-such-snapshot"},
		{"run", "missing command"},
		{"run --timeout -1s -- true", "--timeout"},
		{"run --report \x00 -- true", "--report"},
		{"run --settle --observe-records -1 -- true", "--settle"},
		{"run --nodes x -- true", "--nodes"},
		{"run --max-conflicts=deployment -- true", "write N or NAME=N"},
		{"run --no-hot-loop --observe-records=-1 -- true", "--observe-records"},
		{"run --report out --observe-records=-1 -- true", "--observe-records"},
		{"run -R -- true", "-R needs -f"},
		{"run -f - -f - -- true", "only once"},
		{"run -f - --kubernetes 1.36,1.37 -- true", "cannot share stdin"},
		{"run --service-account /operator -- true", "cannot be a namespace"},
		{"run --service-account shop/ -- true", "cannot be a ServiceAccount"},
		{"run --service-account shop/a/b -- true", "cannot be a ServiceAccount"},
		{"run --service-account ../etc/x -- true", "cannot be a namespace"},
		{"dev", "missing command"},
		{"dev --watch missing -- true", "--watch: cannot watch missing: no such file"},
		{"dev --match [ -- true", "--match"},
		{"dev --ui json -- true", "use auto, plain or none"},
		{"up --kubernetes=1.20", `"1.20"`},
		{"top extra", "takes no arguments"},
		{"top --metrics nonsense", "--metrics"},
		{"status -o xml", "xml"},
		{"wait", "nothing to wait for"},
		{"wait nonsense", "KIND/NAME"},
		{"wait setled", `did you mean "settled"?`},
		{"wait pods", `as in "ctrlplane wait pods/NAME": `},
		{"wait deployment web api/x", "KIND/NAME"},
		{"wait deploy/web --timeout 0", "--timeout"},
		{"wait settled --horizon -1s", "--horizon"},
		{"trace", "KIND"},
		{"trace deploy/web -o nope", "nope"},
		{"trace deploy/web --since -1s", "--since"},
		{"why nonsense", "KIND"},
		{"why pods", `as in "ctrlplane why pods/NAME": `},
		{"trace Deployment", `as in "ctrlplane trace Deployment/NAME"`},
		{"explain nope", "nope"},
		{"explain pod", `kubectl explain pod" explains the fields`},
		{"controllers nope", "nope"},
		{"controllers pause", "missing controller name"},
		{"controllers pause --all x", "exclude each other"},
		{"controllers step a 0", "not a number of writes"},
		{"controllers step", "takes the name of a controller and a number of writes"},
		{"controllers step a --until x", `--until: unknown state "x": use settled`},
		{"controllers step a 3 --until settled", "exclude each other"},
		{"clients step a --until settled", "--until is for controllers"},
		{"controllers step a --timeout 0s", "--timeout: 0s is not positive"},
		{"controllers delay a", "not a duration"},
		{"controllers delay a 0s", "not positive"},
		{"controllers fail a --rate 7", "rate 7"},
		{"controllers fail a --code x", `code "x"`},
		{"controllers fail a --verb x", `verb "x"`},
		{"controllers scale a", "missing number of workers: use --workers 3"},
		{"controllers scale a --workers 0", "--workers 0: not a number of workers"},
		{"nodes add x", "not a number of nodes"},
		{"nodes remove", "missing node name"},
		{"snapshot save Bad_Name", "Bad_Name"},
		{"snapshot restore no-such-snapshot", "no-such-snapshot"},
		{"snapshot diff a b c", "one or two names"},
		{"learn 99", `unknown lesson "99"`},
		{"learn /no/such.md", "/no/such.md"},
		{"learn --list 1", "--list"},
		{"learn --resume --auto", "exclude each other: use one of them"},
		{"help nope", `unknown verb "nope"`},
		{"completion nope", `unknown verb "nope"`},
	} {
		t.Run(tc.args, func(t *testing.T) {
			h := enterHome(t)
			args := strings.Fields(tc.args)
			for i, arg := range args {
				if strings.HasPrefix(arg, "a_") || arg == "\x00" {
					args[i] = strings.NewReplacer("_", " ", "\x00", "").Replace(arg)
				}
			}
			if args[0] == "up" && !slices.Contains(args, "--ui") {
				args = append(args, "--ui", "none")
			}
			h.requireFailure(t, args, 2, tc.says)
			h.requireEmpty(t)
		})
	}
}

// TestListFlagsTakeOneLine gives lists several lines, of which pflag would drop all but the first.
func TestListFlagsTakeOneLine(t *testing.T) {
	h := enterHome(t)
	for _, args := range [][]string{
		{"up", "--ui", "none", "--host", "a.example\nb.example"},
		{"run", "--node-label", "tier=a\ntier=b", "--", "true"},
		{"dev", "--match", "*.go\r\n*.yaml", "--", "true"},
	} {
		h.requireFailure(t, args, 2, "it has several lines: separate values with commas, or repeat the flag")
	}
	h.requireEmpty(t)
}

// TestErrorsHaveNoControlCharacters names files that cannot be read: an error contains text of a
// user, a file, an API server or a webhook.
func TestErrorsHaveNoControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\x07\u009b31m\u202eb\xff"
	h := enterHome(t)
	for _, args := range [][]string{
		{"up", "--ui", "none", "--ephemeral", "-f", evil},
		{"run", "-f", evil, "--", "true"},
		{"wait", "-f", evil},
		{"snapshot", "delete", evil},
		{"--data-dir", evil, "status"},
		{evil},
	} {
		r := h.run(t, args...)
		if r.code == 0 || !strings.HasPrefix(r.stderr, "ctrlplane: ") {
			t.Errorf("%q: exit code %d: %q", args, r.code, r.stderr)
		}
		if !utf8.ValidString(r.stdout+r.stderr) || strings.ContainsAny(r.stdout+r.stderr, "\x1b\x07\u009b\u202e") {
			t.Errorf("%q: stdout %q, stderr %q", args, r.stdout, r.stderr)
		}
	}
}
