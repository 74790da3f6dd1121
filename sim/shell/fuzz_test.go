package shell

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fuzzRun runs a command with small limits and checks what must hold for all
// commands.
func fuzzRun(t *testing.T, c Config) {
	t.Helper()
	var errOut bytes.Buffer
	c.FS = NewFS(1 << 20)
	c.Stderr = &errOut
	c.Limits = Limits{CPUShare: 1000, OutputRate: 1 << 30, Memory: 4 << 20, Depth: 50, Processes: 8, Steps: 20_000}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := cpuTime(t) // other programs may use the machine as well
	ended := make(chan error, 1)
	go func() {
		_, err := Run(ctx, c)
		ended <- err
	}()
	var err error
	select {
	case err = <-ended:
	case <-time.After(time.Minute):
		t.Fatalf("%q has not ended a minute after its start", c.Args)
	}
	if err != nil && !errors.Is(err, ErrUnknownProgram) && !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
	if used := cpuTime(t) - start; used > 5*time.Second {
		t.Errorf("it used the CPU for %v", used)
	}
	if strings.Contains(errOut.String(), "simulation failed") {
		t.Errorf("%q: %s", c.Args, &errOut)
	}
	if n := held.Load(); n != 0 {
		t.Errorf("%d bytes are still accounted", n)
	}
	if used, limit := c.FS.Root().Used(), int64(1<<20); used < 0 || used > limit+64<<10 {
		t.Errorf("%d bytes are stored", used)
	}
}

func FuzzScript(f *testing.F) {
	seeds := slices.Clone(reaching)
	for i, src := range hostile {
		// TestHostileScripts has all of them, with the limits of a Pod: some are enough for small limits.
		if i%4 == 0 || flag.Lookup("test.fuzz").Value.String() != "" {
			seeds = append(seeds, src)
		}
	}
	for _, src := range seeds {
		f.Add(src, "line 1\nline 2\n", false)
	}
	for _, src := range []string{
		`set -- -abc; getopts abc x; getopts abc x; set -- -a; getopts abc x; echo $x`,
		`a=(1 2 3); unset 'a[1]'; a[-1]=x; echo ${a[@]:1:1} ${!a[@]} ${a[*]#1} "${a[@]/2/x}" ${#a}`,
		`x=äöü; echo ${x:1:1} ${x#?} ${x//[ä-ö]/-} ${x^^} ${#x} ${x@Q}`,
		`case $1 in [!a-c]*|"$2"|\*) ;; ?) ;& x) ;;& esac`,
		`f() { local a=$1 b; a=2; return $a; }; export -f f; readonly f=1; declare -i n=1; typeset -x y=2`,
		`trap 'echo $?' EXIT INT ERR; set -eux -o pipefail; ! false | true && { (exit 3) || :; }`,
		`cat <<-A <<'B' 3>&1 >f 2>&1 <f
	$x
	A
b
B`,
		`printf '%5.2f|%-*s|%b|%q|%c|%%|%x\n' 1.5 3 a '\101' 'a b' c 255; echo -e '\x41\0101\c'`,
		`read -r -d : -n 3 a b; read -a c; IFS=, read -t 1 d e f; echo "$a|$b|${c[1]}"`,
		`while read l; do case $l in *1) continue;; esac; echo "$l"; break; done; until :; do :; done`,
		`echo $((a=1,b+=a++,++b*-1,~b,!b,a<<2|b&1^3,a?b:a**2)) $((0x1F+010+2#101)); ((a>b)) || let c=a+1`,
		`sed -n '/a/,/b/{s/x/y/gp;=;q}' f; sed '1~2!d;$!N;P;D'; grep -Eow '[[:alpha:]]+' ; tr -cs a-z '\n'; sort -t: -k2,3nr | uniq -c`,
		`find . \( -name '*.x' -o ! -type d \) -maxdepth 2 -exec echo {} + ; xargs -n 2 -I% echo % ; expr 1 + \( 2 \* 3 \) : '.*'`,
		`[ -n "$x" -a ! -e f -o \( a = b \) ]; [[ -z $x && a =~ (b|c)+ || ! -f f ]]; test`,
		`alias x='echo '; x x; unalias -a; type x; command -v x; hash; jobs; wait -n; kill %1; umask 22; ulimit; times`,
	} {
		f.Add(src, "input x:y\n", true)
	}
	f.Fuzz(func(t *testing.T, src, input string, bash bool) {
		name := "sh"
		if bash {
			name = "bash"
		}
		fuzzRun(t, Config{Args: []string{name, "-c", src, "name", "a", "b c"}, Stdin: strings.NewReader(input), Dir: "/tmp"})
		fuzzRun(t, Config{Args: []string{name, "-s"}, Stdin: strings.NewReader(src + "\n" + input), Dir: "/tmp"})
		UnknownPrograms([]string{name, "-c", src})
		ImageFiles([]string{name, "-c", src})
		OnlySleeps([]string{name, "-c", src})
	})
}

// FuzzProgram runs the programs with arguments that zero bytes separate.
func FuzzProgram(f *testing.F) {
	for _, name := range programNames() {
		f.Add(name, "-a\x00-n\x001\x00/etc/passwd", "input\n")
		f.Add(name, "-\x00x", "")
	}
	for _, seed := range [][3]string{
		{"sed", `-n;s/\(.*\)\n*/\1&/2gp;$!{N;D};y/abc/xyz/`, "a\nb\n"}, {"sed", "-E\x00:a;s/^(.*)x/\\1y/;ta;1!G;h;$!d;2q5", "x\nxx\n"},
		{"grep", "-Eion\x00(a|b)*[^[:space:]]{2,3}$", "ab\nabc\n"}, {"sort", "-k2.1,3nr\x00-t:\x00-u", "a:1\nb:2\n"}, {"cut", "-d:\x00-f1,3-", "a:b:c\n"},
		{"tr", "-cs\x00[:alnum:]\\n\x00a-z", "x y\n"}, {"find", "/\x00(\x00-name\x00p*\x00-o\x00-type\x00d\x00)\x00-prune\x00-exec\x00echo\x00{}\x00;", ""},
		{"awk", "-F:\x00BEGIN{x=1}/a/,$1~\"b\"{s[$1]+=NF;sub(/a/,\"&&\");$3=toupper(substr($0,2))}END{for(k in s)printf \"%s %5.2f\\n\",k,s[k];exit !x}", "a:b\nb:c\n"},
		{"awk", "{while(i++<9)a[i]=a[i-1] $0;do print length(a)>\"f\";while(--i);delete a;$(NF+2)=x?y:z;n=split($0,q,/b+/)}", "a b\n"},
		{"tar", "cf\x00/tmp/t\x00-C\x00/etc\x00.", ""}, {"tar", "xf\x00-", "x"}, {"date", "-d\x00@1\x00+%Y%-d%3N%j", ""}, {"expr", "a\x00:\x00\\(.\\)*\x00|\x001\x00%\x000", ""},
		{"printf", "%*.*f %-5s %b\\x\x00999999\x003\x001.5", ""}, {"chmod", "u+rwX,g=s,o-t\x00/tmp", ""}, {"dd", "if=/etc/passwd\x00bs=7\x00count=2\x00skip=1\x00seek=9\x00of=/tmp/x", ""},
		{"seq", "-w\x00-s,\x001\x00.5\x009", ""}, {"env", "-i\x00A=1\x00-S\x00sh -c env", ""}, {"timeout", "-s\x00KILL\x00.01\x00cat", ""}, {"xargs", "-0n1\x00sh\x00-c", "exit 1\x00exit 255"},
		{"head", "-n\x00-1k", "a\nb"}, {"tail", "-c\x00+3", "abcdef"}, {"base64", "-d", "YW!Jj"}, {"gunzip", "-c", "\x1f\x8b\x08"}, {"stat", "-c\x00%a%A%N\x00/dev/null", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, name, args, input string) {
		fuzzRun(t, Config{
			Args: append([]string{name}, strings.Split(args, "\x00")...), Stdin: strings.NewReader(input), Dir: "/tmp", TTY: len(args)%5 == 0, User: len(input) % 2,
			Get: func(context.Context, string) (int, []byte, error) { return 200, []byte(input), nil },
		})
	})
}

// FuzzPaths makes changes to a file system with a volume that is mounted twice,
// once read-only, and checks that it stays sound.
func FuzzPaths(f *testing.F) {
	f.Add("mkdir a/b\nwrite a/b/c text\nlink ../.. a/up\nrename a /v/a\nremove a/b/c\n")
	f.Add("link loop loop\nwrite loop x\nlink /ro ro\nwrite ro/x y\nrename /v /ro\nremoveall /\nremoveall /v/..\n")
	f.Add("write ../../../etc/passwd x\nread /etc/passwd\nrename /etc /v/../tmp/etc\nremoveall /bin\nmkdir /bin/ls/x\n")
	f.Add("write " + strings.Repeat("a/../", 100) + "x y\nlink " + strings.Repeat("x/", 100) + " l\nread l/l/l\n")
	f.Fuzz(func(t *testing.T, ops string) {
		const limit = 32 << 10
		volume := NewDir(limit)
		files := NewFS(limit)
		must(t, files.Mount("/v", volume, MountOptions{}))
		must(t, files.Mount("/ro", volume, MountOptions{ReadOnly: true}))
		must(t, volume.WriteFile("keep", []byte("kept"), 0o400))
		for i, line := range strings.SplitN(ops, "\n", 200) {
			op, rest, _ := strings.Cut(line, " ")
			name, arg, _ := strings.Cut(rest, " ")
			c := &cred{uid: int32(i % 2), umask: 0o022}
			switch op {
			case "write":
				if h, err := files.open(c, "/"+name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o644); err == nil {
					_, _ = h.writeAll([]byte(arg))
					h.close()
				}
			case "read":
				_, _ = files.ReadFile(name)
			case "mkdir":
				_ = files.mkdirAll(c, "/"+name, 0o755)
			case "link":
				_ = files.symlink(c, name, "/"+arg)
			case "hardlink":
				_ = files.link(c, "/"+name, "/"+arg)
			case "rename":
				_ = files.rename(c, "/"+name, "/"+arg)
			case "remove":
				_ = files.remove(c, "/"+name)
			case "removeall":
				_ = files.removeAll(c, "/"+name, func() {})
			case "chmod":
				_ = files.chmod(c, "/"+name, fs.FileMode(len(arg)*7))
			case "volume":
				_ = volume.WriteFile(name, []byte(arg), 0o600)
			}
		}
		for _, d := range []*Dir{files.Root(), volume} {
			used := d.Used()
			if got := d.measure(); got != used {
				t.Errorf("%d bytes are used, %d are accounted", got, used)
			}
			// Copies of the image are made even if the limit is reached.
			if used < 0 || used > limit+64<<10 {
				t.Errorf("%d bytes are used of %d", used, limit)
			}
		}
		if text := string(image().children["etc"].children["passwd"].data); text != imageFiles["passwd"] {
			t.Error("the image changed")
		}
	})
}

// measure adds up what a Dir holds.
func (d *Dir) measure() int64 {
	seen := map[*node]bool{}
	var total int64
	var add func(n *node, name string)
	add = func(n *node, name string) {
		if n.owner == nil {
			return
		}
		if name != "" {
			total += nodeCost + int64(len(name))
		}
		if seen[n] {
			return
		}
		seen[n] = true
		total += int64(len(n.data))
		if n.isLink() {
			total += int64(len(n.target))
		}
		for name, child := range n.children {
			add(child, name)
		}
	}
	add(d.top, "")
	return total
}

func FuzzTerminal(f *testing.F) {
	f.Add("echo x\rcat\rabc\x7f\x15\x04exit\r\x03\x1b[A\x1b[B\x0c")
	f.Add("sleep 100\r\x03\x1bOA\r(\r)\r\"\r\"\rread x\r\x04\x04")
	f.Fuzz(func(t *testing.T, keys string) {
		fuzzRun(t, Config{Args: []string{"sh"}, Stdin: strings.NewReader(keys), TTY: true, Stdout: &bytes.Buffer{}})
	})
}
