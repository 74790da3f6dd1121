package shell

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestPrograms(t *testing.T) {
	for _, tt := range []struct {
		script, want string
		status       int
	}{
		{`printf 'a\nb\nc\n' | head -n 2; printf 'a\nb\nc\n' | head -1; printf abc | head -c 2; printf 'a\nb\nc\n' | head -n -1`, "a\nb\na\naba\nb\n", 0},
		{`mkdir -p /tmp/a/b; cd /tmp/a/b; echo x >../f; tar cf - ../../a/../../etc/passwd ../f .. | tar tf -`, "etc/passwd\nf\n./\nb/\nf\n", 0},
		{`printf '%60000s' x | wc -c; printf '%70000s' x 2>&1; printf '%.99999999999999999999d' 1 2>/dev/null; echo $?`,
			"60000\nprintf: %70000s: more than 65536 characters are not simulated\n1\n", 0},
		{`seq 20 | tail -n 2; seq 5 | tail -n +4; printf abc | tail -c 2; seq 3 | tail -1`, "19\n20\n4\n5\nbc3\n", 0},
		{`printf 'foo\nbar\nFoo\n' >f; grep foo f; grep -i foo f; grep -v foo f; grep -c o f; grep -n bar f; grep -q zzz f; echo $?`,
			"foo\nfoo\nFoo\nbar\nFoo\n2\n2:bar\n1\n", 0},
		{`echo 'a+b (c) x{2}' | grep 'a+b (c)' ; echo aab | grep 'a\{2\}b'; echo aab | grep -E 'a{2}b|zz'; echo a.b | grep -F a.b; echo axb | grep -Fc a.b`,
			"a+b (c) x{2}\naab\naab\na.b\n0\n", 1},
		{`echo one two | grep -o '[a-z]*o'; echo 'foobar foo' | grep -ow foo; printf 'x1\nx2\n' | grep -x x1; printf '1\n2\n3\n4\n' | grep -A1 -B1 3`,
			"o\ntwo\nfoo\nx1\n2\n3\n4\n", 0},
		{`mkdir -p d/e; echo hit >d/e/f; echo hit >d/g; grep -rl hit d; grep -r hit d/e; grep -e a -e hit d/g`, "d/e/f\nd/g\nd/e/f:hit\nhit\n", 0},
		{`printf 'a b\nc\n' | wc; printf 'a b\nc\n' | wc -l; printf 'äb' | wc -m`, "        2         3         6\n2\n2\n", 0},
		{`printf '10\n9\n1\n' | sort; printf '10\n9\n1\n' | sort -n; printf 'b\na\nb\n' | sort -u; printf 'a 2\nb 1\n' | sort -k2 -n; printf 'a:3\nb:1\n' | sort -t: -k2 -r`,
			"1\n10\n9\n1\n9\n10\na\nb\nb 1\na 2\na:3\nb:1\n", 0},
		{`printf 'a 3 x\nb 3 w\na 12 y\nb 2 z\n' >f; sort -k1,1 -k2,2n f; sort -k 2,2nr --key=1,1r f; sort -u -k1,1 f; sort -s -r -k1,1 f`,
			"a 3 x\na 12 y\nb 2 z\nb 3 w\na 12 y\nb 3 w\na 3 x\nb 2 z\na 3 x\nb 3 w\nb 3 w\nb 2 z\na 3 x\na 12 y\n", 0},
		{`printf 'xb\nya\n' | sort -k1.2; printf 'x:b9\ny:a10\nz:a9\n' | sort -t: -k2.1,2.1 -k2.2n; printf 'ab-x\naa-y\n' | sort -k1.4,1.4`,
			"ya\nxb\nz:a9\ny:a10\nx:b9\nab-x\naa-y\n", 0},
		{`printf '1e3\n20\n-1\nx\n3e-2\n' | sort -g; printf '1.10\n1.9\n1.2.3\n.5\n' | sort -n; printf '2K\n1M\n3\n' | sort -h; printf 'v10\nv9\n' | sort -V`,
			"x\n-1\n3e-2\n20\n1e3\n.5\n1.10\n1.2.3\n1.9\n3\n2K\n1M\nv9\nv10\n", 0},
		{`printf 'x   b\ny a\nz  c\n' >f; sort -k2 f; sort -b -k2 f; sort -k2b f; printf '  b\n a\nc\n' | sort -b; printf 'b-c\nba\nB d\n' | sort -d; printf 'b\nA\n' | sort -f`,
			"x   b\nz  c\ny a\ny a\nx   b\nz  c\ny a\nx   b\nz  c\n a\n  b\nc\nB d\nba\nb-c\nA\nb\n", 0},
		{`printf 'b\na\na\n' >f; sort -c f 2>&1; echo $?; sort -rc f; echo $?; sort -rcu f 2>&1`, "sort: f:2: disorder: a\n1\n0\nsort: f:3: disorder: a\n", 1},
		{`for i in -z -k0 -k1.0 -kx -k1, -k2z -tab -t; do sort $i '' </dev/null 2>&1; done`,
			"sort: unrecognized option: z\nsort: bad field specification '0'\nsort: bad field specification '1.0'\nsort: bad field specification 'x'\n" +
				"sort: bad field specification '1,'\nsort: bad field specification '2z'\nsort: bad field separator 'ab'\nsort: bad field separator ''\n", 2},
		{`printf 'a\na\nb\n' >i; uniq i o; cat o; uniq -c - o <i; cat o`, "a\nb\n      2 a\n      1 b\n", 0},
		{`printf 'a\nb\nc\n' >f; grep -ne a --regexp=b f; grep -vea -e b f; grep -- -e f; sed -ne /a/p -e /b/p -n --expression=/c/p f; sed -n - f 2>&1; head -- -1 2>&1`,
			"1:a\n2:b\nc\na\nb\nc\nsed: unsupported command -\nhead: can't open '-1': No such file or directory\n", 1},
		{`echo 1 >f; sed -i.bak s/1/2/ f; cat f f.bak; sed -n --in-place=.bak s/2/3/p f; cat f f.bak; sed -ni p f; cat f; sed -i*x p f 2>&1; ls`,
			"2\n1\n3\n2\n3\nsed: unrecognized option: i*x\nf\nf.bak\n", 0},
		{`timeout -+ 1 true 2>&1; sed -: p 2>&1; sort '-*' 2>&1`, "timeout: unrecognized option: +\nsed: unrecognized option: :\nsort: unrecognized option: *\n", 2},
		{`for p in cat cmp curl egrep fgrep grep sort timeout tty wget; do $p --none x y 2>/dev/null; echo $p $?; done`,
			"cat 1\ncmp 2\ncurl 2\negrep 2\nfgrep 2\ngrep 2\nsort 2\ntimeout 125\ntty 2\nwget 2\n", 0},
		{`printf 'a\na\nb\n' | uniq; printf 'a\na\nb\n' | uniq -c; printf 'a\na\nb\n' | uniq -d`, "a\nb\n      2 a\n      1 b\na\n", 0},
		{`echo a:b:c | cut -d: -f2; echo a:b:c | cut -d: -f1,3; echo abcdef | cut -c2-4; echo nodelim | cut -d: -f2`, "b\na:c\nbcd\nnodelim\n", 0},
		{`echo hello | tr a-y b-z; echo hello | tr -d l; echo aabb | tr -s a; echo Hi | tr '[:lower:]' '[:upper:]'; echo a,b | tr , '\n'; echo abc1 | tr -cd '0-9'`,
			"ifmmp\nheo\nabb\nHI\na\nb\n1", 0},
		{`echo hello | sed s/l/L/; echo hello | sed 's/l/L/g'; echo hello | sed -E 's/(l+)/<\1>/'; echo a/b | sed 's|/|-|'; echo ab | sed 's/\(a\)\(b\)/\2\1&/'`,
			"heLlo\nheLLo\nhe<ll>o\na-b\nbaab\n", 0},
		{`seq 5 | sed -n 2p; seq 5 | sed '2,4d'; seq 5 | sed -n '$p'; seq 3 | sed -n '/2/,$p'; seq 3 | sed '/2/!d'; seq 5 | sed 2q`,
			"2\n1\n5\n5\n2\n3\n2\n1\n2\n", 0},
		{`echo x >f; sed -i s/x/y/ f; cat f; sed -i -e 's/y/z/' f; cat f; printf 'a\n' | sed 'a\
after'; printf 'a\n' | sed '1i before'; echo a | sed -e 's/a/b/' -e 's/b/c/'`, "y\nz\na\nafter\nbefore\na\nc\n", 0},
		{`echo 1 >f; sed 'a one\n\ttwo\\n\
\more' f; sed 'i\  a: 1' f; sed 'a\ 	
  b: 2' f; sed '1c\text' f; sed -e 'a\' -e '  c' f`, "1\none\n\ttwo\\n\nmore\n  a: 1\n1\n1\n  b: 2\ntext\n1\n  c\n", 0},
		// The last line has a final newline if the input has it.
		{`for i in s/a/b/ p '$!d;x;G' N G = 'a x' q 'n;P;D' '/a$/d'; do printf 'a\na' | sed "$i"; echo "|"; done`,
			"b\nb|\na\na\na\na|\n\na|\na\na|\na\n\na\n|\n1\na\n2\na|\na\nx\na\nx\n|\na\n|\na\na\n|\n|\n", 0},
		{`printf 'a\nb' >f; sed s/b/c/ f f; echo "|"; sed -n '$p' f f; echo "|"; sed -i s/b/c/ f; wc -c <f; printf d >>f; sed '$d' f; sed -n '1p;1r f' f; printf %s x | sed p | wc -c`,
			"a\nc\na\nc|\nb|\n3\na\na\na\ncd\n3\n", 0},
		{`hostname -f; echo '10.0.0.1 web-0.nginx.default.svc host' >/etc/hosts; hostname -f; hostname; hostname -fs; : >/etc/hosts; hostname -f`,
			"host\nweb-0.nginx.default.svc\nhost\nhost\nhost\n", 0},
		{`df -h / | head -n 1; df -k / | head -n 1`, "Filesystem                 Size      Used Available Use% Mounted on\n" +
			"Filesystem            1K-blocks      Used Available Use% Mounted on\n", 0},
		{`df / /etc/passwd nosuch 2>&1 | sed 's/ .*% / /'`, "Filesystem Mounted on\ndf: nosuch: can't find mount point\nsimulated /\nsimulated /\n", 0},
		{`curl -s -o /dev/null -w '%{http_code}\n' http://web/down; echo $?; curl -sfw '%{http_code} %{size_download}\n' http://web/missing; echo $?`, "000\n7\n404 0\n22\n", 0},
		{`sleep 100 & sleep 101 & until [ "$(pgrep -f '^sleep 10[01]$' | wc -l)" = 2 ]; do :; done; pgrep -f 'eep 1.*0$' | wc -l; pgrep -xf 'sleep 10' || pgrep 'p.e' || pgrep 's.*(e)p$' | wc -l; pgrep 'a[' 2>&1; pkill -xf 'sleep .*|x'; wait $!; echo $?`,
			"1\n2\npgrep: bad regular expression: unmatched [\n143\n", 0},
		{`date -d @0 '+%-H:%-M:%-S %-d %-j %-e|%k|%l|%-I|%C|%G-W%V-%u|%g|%U %W|%P|%-s|%-Q|%Q'; date -d '2026-11-26 05:07:09' '+%-H:%-M %k %l %C %G %V %U %W'; date -d 2027-01-03 '+%G-W%V %U %W'`,
			"0:0:0 1 1 1| 0|12|12|19|1970-W01-4|70|00 00|am|0|%-Q|%Q\n5:7  5  5 20 2026 48 47 47\n2026-W53 01 00\n", 0},
		{`date -d '2026-11-26 05:07:09' '+%_H:%_d %^a %#p %5d %N %3N %-N %%N %%%N %n'`, " 5:26 THU am 00026 000000000 000 0 %N %000000000 \n\n", 0},
		{`hash ls cat echo; echo $?; hash curl nosuch 2>&1; echo $?; f() { :; }; hash f; echo $?; hash -r; echo $?`, "0\nsh: hash: nosuch: not found\n1\n0\n0\n", 0},
		{`printf 'a\nb\n' | sed 'N;s/\n/,/'; printf '1\n2\n3\n' | sed -n '1!G;h;$p'; echo abc | sed y/abc/xyz/; printf 'a\nb\n' | sed =; echo aaa | sed 's/a/b/2'`,
			"a,b\n3\n2\n1\nxyz\n1\na\n2\nb\naba\n", 0},
		{`echo aXbX | sed ':a;s/X/-/;ta'; echo k=v | sed -n 's/^k=//p'; echo 1 | sed 's/1/a\nb/'`, "a-b-\nv\na\nb\n", 0},
		{`seq 3; seq 2 4; seq 1 2 5; seq -s, 3; seq -w 8 10; seq 3 -1 1`, "1\n2\n3\n2\n3\n4\n1\n3\n5\n1,2,3\n08\n09\n10\n3\n2\n1\n", 0},
		{`mkdir a; mkdir a 2>&1; mkdir -p a/b/c; ls a; rmdir a/b/c; touch a/b/x; rm a 2>&1; rm -r a; ls a 2>&1; rm -f a`,
			"mkdir: can't create directory 'a': File exists\nb\nrm: can't remove 'a': Is a directory\nls: a: No such file or directory\n", 0},
		{`echo 1 >a; cp a b; cat b; mv b c; ls; mkdir d; cp a c d; ls d; cp -r d e; ls e; mv c d/x; cat d/x`,
			"1\na\nc\na\nc\na\nc\n1\n", 0},
		{`mkdir -p s/sub t; echo 1 >s/a; echo 2 >s/sub/b; cp -r s/. t; ls -A t; cp -a s/sub/ u; cp -a s/sub/./ u; ls -A u; cp -r s/sub/.. t/sub; ls -A t/sub`, "a\nsub\nb\na\nb\nsub\n", 0},
		{`mkdir -p s/sub t; for i in s/. s/sub/..; do mv $i t 2>&1; rmdir $i 2>&1; rm -r $i 2>&1; done; mv -T s . 2>&1; ls -d s/sub`,
			"mv: can't rename 's/.': Resource busy\nrmdir: 's/.': Invalid argument\nrm: can't remove 's/.': refusing to remove a directory that is in use\n" +
				"mv: can't rename 's/sub/..': Resource busy\nrmdir: 's/sub/..': Directory not empty\nrm: can't remove 's/sub/..': refusing to remove a directory that is in use\n" +
				"mv: can't rename 's': Resource busy\ns/sub\n", 0},
		{`cd /tmp; cd ""; touch f; pwd; echo "$PWD $OLDPWD"; ls /tmp; HOME= ; cd; pwd`, "/tmp\n/tmp /tmp\nf\n/tmp\n", 0},
		{`mkdir -p s/sub t/sub; echo 1 | tee s/a s/sub/b >s/sub/c; echo 2 >t/sub/b; cp -rn s/. t/; cat t/a t/sub/b t/sub/c`, "1\n2\n1\n", 0},
		{`rm -rf ""; echo $?; rm "" 2>&1; mkdir -p "" 2>&1; mkdir "" 2>&1; mv "" x 2>&1; cp -r "" x 2>&1`,
			"0\nrm: can't remove '': No such file or directory\nmkdir: can't create directory '': No such file or directory\n" +
				"mkdir: can't create directory '': No such file or directory\nmv: can't rename '': No such file or directory\ncp: can't stat '': No such file or directory\n", 1},
		{`dirname '' // //a /a/ a//b/ a/../b ../a/..; basename ''; basename a/`, ".\n/\n/\n/\na\na/..\n../a\n\na\n", 0},
		{`mkdir -p d/e; cd d; find . -delete && ls -d /data/d; ls -A; touch f; find . -type f -delete; ls -A; cd ..; find d -delete; ls`, "/data/d\n", 0},
		{`echo 1 >a; ln -s a l; cat l; readlink l; readlink -f l; ln a h; echo 2 >h; cat a; ln -sf /nosuch l; cat l 2>/dev/null; echo $?; ls -l l | cut -c1-10; test -L l && echo link`,
			"1\na\n/data/a\n2\n1\nlrwxrwxrwx\nlink\n", 0},
		{`touch f; chmod 640 f; stat -c '%a %s %n %F' f; chmod u+x,g-r,o=r f; stat -c %A f; chmod a+x f; stat -c %a f`, "640 0 f regular empty file\n-rwx---r--\n715\n", 0},
		{`touch f; chown 5:6 f; stat -c '%u:%g %U' f; chown nobody f; stat -c %U f`, "5:6 5\nnobody\n", 0},
		{`echo hi >f; ls -l f | sed 's/[A-Z][a-z][a-z] .*:..//'`, "-rw-r--r--    1 root     root             3  f\n", 0},
		{`touch .h v; ls; ls -A; ls -a; ls -d .; ls -1 /data`, "v\n.h\nv\n.\n..\n.h\nv\n.\nv\n", 0},
		{`basename /a/b.txt; basename /a/b.txt .txt; dirname /a/b; dirname x; dirname /`, "b.txt\nb\n/a\n.\n/\n", 0},
		{`echo x | tee f; cat f; echo y | tee -a f >/dev/null; cat f`, "x\nx\nx\ny\n", 0},
		{`mkdir -p d/e; touch d/a.txt d/e/b.txt d/c; find d -name '*.txt'; find d -type d; find d -maxdepth 1 -type f; find d -name c -delete; find d -name c; find d -type f -exec echo {} \; ; find d -type f -exec echo {} +; find d ! -name d -a -type d`,
			"d/a.txt\nd/e/b.txt\nd\nd/e\nd/a.txt\nd/c\nd/a.txt\nd/e/b.txt\nd/a.txt d/e/b.txt\nd/e\n", 0},
		{`printf abc | md5sum; printf abc | sha256sum; printf abc >f; md5sum f >s; md5sum -c s`,
			"900150983cd24fb0d6963f7d28e17f72  -\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  -\nf: OK\n", 0},
		{`printf hello | base64; echo aGVsbG8= | base64 -d; printf hello | base64 -w 4`, "aGVsbG8=\nhelloaGVs\nbG8=\n", 0},
		{`expr 1 + 2 '*' 3; expr 5 '>' 3; expr abc : 'a\(.*\)'; expr length hello; expr 1 = 2; echo $?`, "7\n1\nbc\n5\n0\n1\n", 0},
		{`tac <<E
1
2
E
echo abc | rev; nproc; uname; uname -m; whoami; id -u; id; hostname`, "2\n1\ncba\n1\nLinux\nx86_64\nroot\n0\nuid=0(root) gid=0(root) groups=0(root)\nhost\n", 0},
		{`date -u -d @0 +%Y-%m-%dT%H:%M:%SZ; date -d 2024-02-29 +%j; date -d @86400 '+%a %b %e %s'`, "1970-01-01T00:00:00Z\n060\nFri Jan  2 86400\n", 0},
		{`mkdir -p /tmp/a /tmp/b /tmp/c; cd /tmp/a; echo x >f; tar cf - f | tar x --directory=/tmp/b; tar cf - --directory /tmp/b f | tar xf - -C .. -C c; cat /tmp/c/f`, "x\n", 0},
		{`mkdir d; echo x >d/f; ln -s f d/l; tar cf - d | (mkdir o; cd o; tar xf -); cat o/d/f; readlink o/d/l; tar czf a.tgz d; tar tzf a.tgz`, "x\nf\nd/\nd/f\nd/l\n", 0},
		{`mkdir d; touch d/f; tar cvf a d; echo -; tar xvf a 2>/dev/null; echo -; tar cvf - d 2>&1 >b; echo -; tar xv <b; echo x >d/f; tar cf a d; echo -; tar xvOf a 2>/dev/null`, "d/\nd/f\n-\nd/\nd/f\n-\nd/\nd/f\n-\nd/\nd/f\n-\nx\n", 0},
		{`echo hi >f; gzip f; ls; gunzip f.gz; cat f; cat f | gzip | zcat`, "f.gz\nhi\nhi\n", 0},
		{`printenv A; printenv NOPE; echo $?; env | grep ^A=; env B=2 printenv B`, "1\n1\nA=1\n2\n", 0},
		{`which ls nosuch; echo $?`, "/bin/ls\n1\n", 0},
		{`dd if=/dev/zero of=z bs=1k count=2 2>/dev/null; wc -c <z; truncate -s 10 z; wc -c <z`, "2048\n10\n", 0},
		{`test 1 -lt 2 -a 3 -gt 2; echo $?; test ! x; echo $?; test '(' a = b ')' -o c = c; echo $?; test a -eq 1; echo $?`, "0\n1\n0\n2\n", 0},
		{`nc -z x 1 2>&1; ping x 2>&1`, "nc: this container is simulated and has no network\nping: this container is simulated and has no network\n", 1},
		{`nslookup web; wget -qO- http://web/; curl -s -o /dev/null -w '%{http_code}' http://web/missing; curl -sf http://web/missing; echo $?; wget -q http://web/x; cat x`,
			"Server:\t\tsimulated\nAddress:\tsimulated\n\nName:\tweb\nAddress: 10.0.0.1\n\npage http://web/40422\npage http://web/x", 0},
		{`sleep 1000 & until pkill sleep; do :; done; ps | head -1; wait $!; echo $?`, "PID   USER     TIME  COMMAND\n143\n", 0},
		{`cd /tmp && x=$(mktemp) && test -f $x && d=$(mktemp -d) && test -d $d && echo ok; getent passwd root; realpath .`, "ok\nroot:x:0:0:root:/root:/bin/sh\n/tmp\n", 0},
		{`echo log >/dev/termination-log; cat /dev/termination-log`, "log\n", 0},
		{`cat </dev/null; echo x >/dev/null; [ -c /dev/null ] && echo dev; cat /dev/full | head -c 1 | wc -c; echo x >/dev/full; echo $?`, "dev\n1\n1\n", 0},
		{`sh -c 'echo log >/proc/1/fd/1' >/dev/null`, "log\n", 0},
		{`echo a b | awk '/Ready/ { c++ } END { if (c == 0) print "none"; if (c < 1 && c > -1 && c == "" && !c && !(c == "0")) print "unset" }'; echo 1 | awk '{ print ($2 == 0), ($2 == ""), (a["x"] == 0), ($1 > y), (z = a["y"]) == 0, (y == z) }'; echo ,1 | awk -F, '{ print ($1 == 0), ($1 == ""), ($3 == 0) }'`,
			"none\nunset\n1 1 1 1 1 1\n0 1 1\n", 0},
		{`printf 'a b\nc d e\n' >f; awk '{print $2, NF}' f; awk 'NR==2{print $NF}' f; awk '/c/' f; awk -F: -v x=5 '$3>=x && !/^root:/ {n++; s=s $1 ","} END {print n, s}' /etc/passwd; wc -l f | awk {'print $1'}`,
			"b 2\nd 3\ne\nc d e\n1 nobody,\n2\n", 0},
		{`seq 4 | awk 'BEGIN {OFS="-"; printf "%s|%03d|%.2f\n", "x", 7, 1/3} {s+=$1; a[$1%2]+=$1} END {for (k in a) print k, a[k]; print s/NR; if (s > 5) print "big"; else print "small"; exit 3}'`,
			"x|007|0.33\n0-6\n1-4\n2.5\nbig\n", 3},
		{`echo 'k=v x' | awk '{sub(/k/, "<&>"); gsub("[vx]", "y"); print; $2="z"; print; print length($0), substr($0,2,3), index($0,"z"), toupper($1), split("a:b",p,":"), p[2]; i=0; while (i++<3) printf i " "; print ""}'`,
			"<k>=y y\n<k>=y z\n7 k>= 7 <K>=Y 2 b\n1 2 3 \n", 0},
		{`printf '1\n2\n3\n4\n' | awk '/2/,/3/'; echo a,b | awk -F, '{print $1 > "o"; print $2 >> "o"}'; cat o; awk 'BEGIN{print 1e3, 0.1+0.2, -3%2, 2^10, "a" "b", 1==1.0, "a"<"b"; x["a","b"]; if (("a","b") in x) print "in"}'; awk 'BEGIN{f(1)}'; echo $?`,
			"2\n3\na\nb\n1000 0.3 -1 1024 ab 1 1\nin\n1\n", 0},
		{`seq 3 | awk '{exit 3} END{print "end", NR}'; echo $?; awk 'BEGIN{exit 4} BEGIN{print "no"} END{print "e"; exit} END{print "no"}'; echo $?; seq 3 | awk 'BEGIN{exit} {print "no"}'; echo $?`,
			"end 1\n3\ne\n4\n0\n", 0},
		{`awk 'END{print NR, FNR, NF}' /dev/null; awk 'BEGIN{print NR, FNR, NF}'; printf '1\n2\n' | awk '{NR+=5} END{print NR}'`, "0 0 0\n0 0 0\n12\n", 0},
		{`seq 2 >f; awk '{print x, $0, NR, FNR}' x=1 f x='a\tb' f; awk '{print x} END{print x}' f x=3; echo 1 | awk '{print x}' x=5; awk 1 a-b=c 2>&1`,
			"1 1 1 1\n1 2 2 2\na\tb 1 3 1\na\tb 2 4 2\n\n\n3\n5\nawk: can't open 'a-b=c': No such file or directory\n", 1},
		{`printf 'a:b c\nd:e f\n' | awk '{FS=":"; print $1}'; printf '1;2;3' | awk -v 'RS=;' '{s+=$1} END{print s}'`, "a:b\nd\n6\n", 0},
		{`for i in RS= RS=ab OFMT=%d CONVFMT=%d; do awk -v $i 1 /dev/null 2>&1; done; echo x | awk '{RS=";"}' 2>&1; for i in 'RS=""' 'x=ARGV[1]' 'x=ARGC' 'OFMT="%d"'; do awk "BEGIN{$i}" 2>&1; done`,
			"awk: RS of no or several characters is not simulated\nawk: RS of no or several characters is not simulated\nawk: OFMT is not simulated\nawk: CONVFMT is not simulated\n" +
				"awk: a change of RS after the first record is not simulated\nawk: RS of no or several characters is not simulated\n" +
				"awk: syntax error: ARGV is not simulated\nawk: syntax error: ARGC is not simulated\nawk: syntax error: OFMT is not simulated\n", 1},
		// Options that only say more, or that change nothing here, are accepted.
		{`mkdir -pv a/b; touch a/b/f; chmod -v 600 a/b/f; chown -Rv 0 a; chown -h 0 a; ln -sfv f a/l; find a -xdev -type f; find a -mount -name l; rm -rfv a; ls; test -f "$(mktemp -q)"; echo $?`, "a/b/f\na/l\n0\n", 0},
		// Options that are not simulated are refused, not ignored.
		{`for i in 'cat -A' 'cat -v' 'cat -s' 'wc -L' 'nl -b p' 'find -follow' 'touch -a f' 'date -Ix' 'date -D %s' 'kill -l x'; do $i </dev/null 2>&1; done`,
			"cat: unrecognized option: A\ncat: unrecognized option: v\ncat: unrecognized option: s\nwc: unrecognized option: L\nnl: unrecognized option: bp\n" +
				"find: unrecognized: -follow\ntouch: unrecognized option: a\ndate: invalid argument 'x'\ndate: unrecognized option: D\nkill: bad signal name 'x'\n", 1},
		{`printf abcde | head -c -2; printf abc | head -c -9; printf 'a\n\nb\n' >f; nl f; nl -ba -w2 -s: f; nl -b t -w 1 f`, "abc     1\ta\n       \n     2\tb\n 1:a\n 2:\n 3:b\n1\ta\n  \n2\tb\n", 0},
		{`mkdir -p d/e; touch d/e/f; find d -depth; find d -depth -mindepth 1 -type d -exec rmdir {} \; 2>/dev/null; rm d/e/f; find d -depth -type d -exec rmdir {} \; ; ls`, "d/e/f\nd/e\nd\n", 0},
		{`touch -t 202402290102.03 f; stat -c %y f; touch -t 7001010000 f; stat -c %Y f; touch -t 12 f 2>&1; echo 1 >g; touch -m -t 200001010000 g; stat -c %Y g`,
			"2024-02-29 01:02:03.000000000 +0000\n0\ntouch: invalid date '12'\n946684800\n", 0},
		{`date -d @0 -Iseconds; date -d @0 -Is; date -d @0 -I; date -d @0 -Iminutes; date -d @0 --iso-8601=hours`,
			"1970-01-01T00:00:00+00:00\n1970-01-01T00:00:00+00:00\n1970-01-01\n1970-01-01T00:00+00:00\n1970-01-01T00+00:00\n", 0},
		{`kill -l 15; kill -l TERM 9 143; kill -l | cut -d' ' -f1,2; trap -l | cut -d' ' -f1`, "TERM\n15\nKILL\nTERM\nHUP INT\nHUP\n", 0},
		{`touch f; for i in 'cp -i f g' 'mv -i f g' 'rm -i f' 'stat -t f' 'readlink -e f' 'gzip -t f' 'cmp -l f f'; do $i 2>&1; done; ls`,
			"cp: unrecognized option: i\nmv: unrecognized option: i\nrm: unrecognized option: i\n" +
				"stat: unrecognized option: t\nreadlink: unrecognized option: e\n" +
				"gzip: unrecognized option: t\ncmp: unrecognized option: l\nf\n", 0},
		{`for i in 'base64 -i' 'du -a' 'du -d 1' 'df -m' 'hostname -d' 'uname -p' 'ls -s' 'ls -C' 'tr -t a b' 'xargs -p' 'xargs -s 9' 'ps -o pid' 'pgrep -l sh' 'killall -q sh' 'pidof -s sh' 'tar chf x .' 'tar xkf x' 'wget -P d web' 'dd conv=ucase' 'dd x=1' 'which -a ls' 'tac -b' 'rev -x' 'sed -s p'; do $i </dev/null 2>&1; done; type -t ls 2>&1`,
			"base64: unrecognized option: i\ndu: unrecognized option: a\ndu: unrecognized option: d\ndf: unrecognized option: m\nhostname: unrecognized option: d\nuname: unrecognized option: p\n" +
				"ls: unrecognized option: s\nls: unrecognized option: C\ntr: unrecognized option: t\nxargs: unrecognized option: p\nxargs: unrecognized option: s\nps: unrecognized option: o\n" +
				"pgrep: unrecognized option: l\nkillall: unrecognized option: q\npidof: unrecognized option: s\ntar: unrecognized option: h\ntar: unrecognized option: k\nwget: unrecognized option: P\n" +
				"dd: unrecognized operand 'conv=ucase'\ndd: unrecognized operand 'x=1'\nwhich: unrecognized option: a\ntac: unrecognized option: b\nrev: unrecognized option: x\n" +
				"sed: unrecognized option: s\nsh: type: illegal option -t\n", 1},
		{`printf -v x a 2>&1; printf -- '%s-\n' a; unset -x y 2>&1; pwd -x 2>&1; tty -s; echo $?; uptime -p 2>&1; find / -maxdepth 0 -type q 2>&1; echo a | cut -d ab -f1 2>&1; cp -r / /tmp/x 2>&1; ls /tmp`,
			"printf: unrecognized option: v\na-\nsh: unset: illegal option -x\nsh: pwd: illegal option -x\n1\nuptime: unrecognized option: p\nfind: -type: invalid argument 'q'\n" +
				"cut: the delimiter must be a single character\ncp: can't copy '/' into itself\n", 0},
		{`for i in -A -B -C -m; do echo x | grep $i z x 2>&1; done; echo x | grep -m 1 -A 0 x; mkdir d; echo x | grep -r x d; echo $?`, "grep: invalid number 'z'\ngrep: invalid number 'z'\ngrep: invalid number 'z'\ngrep: invalid number 'z'\nx\n1\n", 0},
		{`echo 1 >a; echo 2 >b; touch -d @0 a; cp -u a b; cat b; cp -uv b a; cat a; mkdir d; cp -rv d e; mv -v a c; mv -t d b c; ls d; chmod -f 600 nosuch 2>&1; echo $?`,
			"2\n'b' -> 'a'\n2\n'd' -> 'e'\n'a' -> 'c'\nb\nc\n1\n", 0},
		{`cd /tmp; t=$(mktemp -u); ls; truncate -c -s 5 f; ls; echo abc >f; truncate -s +2 f 2>&1; dd if=f of=g bs=1 count=1 conv=fsync oflag=direct status=none; cat g`,
			"truncate: invalid size '+2'\na", 0},
		{`echo hit >f; grep -s hit f nosuch 2>&1; echo $?; grep -qs hit nosuch f; echo $?; grep -s hit nosuch; echo $?; id nobody; id -un nobody; id nosuch 2>&1; ls -n f | cut -c1-10`,
			"f:hit\n2\n0\n2\nuid=65534(nobody) gid=65534(nobody) groups=65534(nobody)\nnobody\nid: unknown user nosuch\n-rw-r--r--\n", 0},
		{`printf 'a b\n\nc d\ne\n' | xargs -L1 echo x; printf 'a b\nc d\ne\n' | xargs -L 2 echo; xargs -L1 echo none </dev/null`, "x a b\nx c d\nx e\na b c d\ne\nnone\n", 0},
		{`dirname -- /a/b; basename -- /a/b.c .c; basename -a x 2>&1; curl -sO http://web/x; cat x; pgrep -x leep; sleep 100 & until pgrep -x sleep >/dev/null; do :; done; pkill -x slee; echo $?; pkill -xf 'sleep 100'; wait $!; echo $?; ulimit -n 9`,
			"/a\nb\nbasename: unrecognized option: a\npage http://web/x1\n143\n", 0},
		{`cmp f f 2>/dev/null || echo differ; echo a >a; echo b >b; cmp a b; cmp -s a a && echo same`, "differ\na b differ: char 1\nsame\n", 0},
	} {
		t.Run(tt.script, func(t *testing.T) {
			stdout, stderr, result := run(t, Config{
				Args: []string{"sh", "-c", tt.script}, Dir: "/data", Env: []string{"A=1"}, Hostname: "host",
				Lookup: func(_ context.Context, host string) ([]string, error) {
					if host != "web" {
						return nil, errors.New("no such host")
					}
					return []string{"10.0.0.1"}, nil
				},
				Get: func(_ context.Context, url string) (int, []byte, error) {
					if strings.HasSuffix(url, "down") {
						return 0, nil, errors.New("connection refused")
					}
					if strings.HasSuffix(url, "missing") {
						return 404, nil, nil
					}
					return 200, []byte("page " + url), nil
				},
			})
			if stdout != tt.want || result.ExitCode != tt.status {
				t.Errorf("status %d, want %d; output:\n%s\nwant:\n%s\nerrors: %s", result.ExitCode, tt.status, stdout, tt.want, stderr)
			}
		})
	}
}
