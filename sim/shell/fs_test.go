package shell

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestMounts(t *testing.T) {
	volume, config := NewDir(1<<20), NewDir(0)
	for name, text := range map[string]string{"/..data_1/key": "one", "/..data_2/key": "two"} {
		must(t, config.MkdirAll(name[:strings.LastIndexByte(name, '/')], 0o755))
		must(t, config.WriteFile(name, []byte(text), 0o644))
	}
	must(t, config.Symlink("..data_1", "..data"))
	must(t, config.Symlink("..data/key", "key"))
	a, b := NewFS(1<<20), NewFS(1<<20)
	for _, f := range []*FS{a, b} {
		must(t, f.Mount("/shared/volume", volume, MountOptions{}))
	}
	must(t, a.Mount("/etc/config", config, MountOptions{ReadOnly: true}))
	must(t, a.Mount("/etc/one-file", config, MountOptions{SubPath: "key"}))
	inA := func(src string) (string, int) {
		out, _, result := run(t, Config{Args: []string{"sh", "-c", src}, FS: a})
		return out, result.ExitCode
	}
	check := func(src, want string, status int) {
		t.Helper()
		if out, got := inA(src); out != want || got != status {
			t.Errorf("%q: got %q, %d; want %q, %d", src, out, got, want, status)
		}
	}
	check(`echo hi >/shared/volume/f; cat /etc/config/key /etc/one-file; ls -A /etc/config`, "oneone..data\n..data_1\n..data_2\nkey\n", 0)
	if text, err := b.ReadFile("/shared/volume/f"); err != nil || string(text) != "hi\n" {
		t.Errorf("the volume is not shared: %q, %v", text, err)
	}
	check(`ls -ln /etc | grep one-file | tr -s ' ' | cut -d' ' -f5; find /etc -name one-file -size -4c -size +2c`, "3\n/etc/one-file\n", 0)
	check(`echo x >/etc/config/key`, "", 1)
	check(`cd /etc; df /shared/volume/f config . one-file | sed 's/.*%//'; df | wc -l`, " Mounted on\n /shared/volume\n /etc/config\n /\n /etc/one-file\n5\n", 0)
	check(`rm /etc/config/key 2>&1; mkdir /etc/config/d 2>&1; touch /etc/config/key 2>&1; mv /etc/config/key /tmp 2>&1`,
		"rm: can't remove '/etc/config/key': Read-only file system\nmkdir: can't create directory '/etc/config/d': Read-only file system\n"+
			"touch: /etc/config/key: Read-only file system\nmv: can't rename '/etc/config/key': Read-only file system\n", 1)
	check(`rm -r /shared/volume 2>/dev/null; rm -r /shared 2>&1; mv /shared /x 2>&1; rm /etc/one-file 2>&1`,
		"rm: can't remove '/shared': Resource busy\nmv: can't rename '/shared': Resource busy\nrm: can't remove '/etc/one-file': Resource busy\n", 1)
	// An update of a ConfigMap volume: the link is replaced. What is mounted by
	// its path in the volume stays as it was.
	must(t, config.Symlink("..data_2", "..data_tmp"))
	must(t, config.Rename("..data_tmp", "..data"))
	must(t, config.RemoveAll("..data_1"))
	check(`cat /etc/config/key /etc/one-file`, "twoone", 0)
	check(`cd /etc/config; pwd -P; cd ../../shared; pwd; echo /etc/config/*`, "/etc/config\n/shared\n/etc/config/key\n", 0)
	check(`mv /shared/volume/f /tmp/f && echo x >/tmp/x && mv /tmp/x /shared/volume && ls /shared/volume /tmp`, "/shared/volume:\nx\n\n/tmp:\nf\n", 0)
}

// TestImage checks that containers do not see each other's changes of the image.
func TestImage(t *testing.T) {
	_, _, result := run(t, Config{Args: []string{"sh", "-c", `echo changed >/etc/passwd; rm /bin/ls; rm -r /usr; mv /bin/cat /bin/dog; chmod 0 /etc/group; ln /bin/sed /bin/x; echo x >>/bin/echo`}})
	if result.ExitCode != 0 {
		t.Errorf("got %+v", result)
	}
	out, _, _ := script(t, `head -1 /etc/passwd; ls -ld /usr | cut -c1-4; command -v cat; stat -c %a /etc/group; wc -c </bin/echo`)
	if want := "root:x:0:0:root:/root:/bin/sh\ndrwx\n/bin/cat\n644\n0\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestLimit(t *testing.T) {
	d := NewDir(64 << 10)
	f := NewFS(1 << 20)
	must(t, f.Mount("/v", d, MountOptions{}))
	before := stored.Load()
	out, errOut, _ := run(t, Config{FS: f, Args: []string{"sh", "-c",
		`cd /v; head -c 100000 /dev/zero >big; wc -c <big; rm big; i=0; while touch $i; do i=$((i+1)); done; ls | wc -l; rm *; echo ok >f; cat f`}})
	// The kernel writes until the disk is full; the copy is in pieces of 16 KiB.
	if want := "49152\n253\nok\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if n := strings.Count(errOut, "No space left on device"); n != 2 {
		t.Errorf("errors: %s", errOut)
	}
	if used := d.Used(); used != nodeCost+int64(len("f"))+3 {
		t.Errorf("%d bytes are used", used)
	}
	if grown := stored.Load() - before; grown > 4<<10 {
		t.Errorf("%d bytes are still accounted", grown)
	}
	// What is removed while it is open counts until it is closed.
	out, _, _ = run(t, Config{FS: f, Args: []string{"sh", "-c",
		`cd /v; exec 3>x; rm x; head -c 50000 /dev/zero >&3; head -c 50000 /dev/zero >y; wc -c <y; exec 3>&-; head -c 50000 /dev/zero >y; wc -c <y`}})
	if want := "0\n50000\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestPermissions(t *testing.T) {
	d := NewDir(0)
	must(t, d.WriteFile("secret", []byte("s"), 0o400))
	must(t, d.WriteFile("group", []byte("g"), 0o640))
	must(t, d.Chown("group", 0, 2000))
	must(t, d.Chmod("/", 0o755))
	f := NewFS(0)
	must(t, f.Mount("/v", d, MountOptions{}))
	out, errOut, _ := run(t, Config{FS: f, User: 1000, Group: 1000, Groups: []int{2000}, Args: []string{"sh", "-c",
		`cat /v/secret; cat /v/group; echo x >/v/new; echo x >/etc/x; echo y >/tmp/y && rm /tmp/y && echo ok; chown root /tmp; ls /root; id; touch /tmp/m; stat -c %u:%g /tmp/m`}})
	if want := "gok\nuid=1000 gid=1000 groups=1000,2000\n1000:1000\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if n := strings.Count(errOut, "Permission denied"); n != 4 || !strings.Contains(errOut, "Operation not permitted") {
		t.Errorf("errors: %s", errOut)
	}
}

func TestFiles(t *testing.T) {
	d := NewDir(0)
	must(t, d.MkdirAll("a/b", 0o755))
	must(t, d.WriteFile("a/b/f", []byte("text"), 0o600))
	mtime := time.Unix(1000, 0)
	must(t, d.Chtimes("a/b/f", mtime))
	info, err := d.Stat("a/b/f")
	if err != nil || info.Size() != 4 || info.Mode() != 0o600 || !info.ModTime().Equal(mtime) || info.Name() != "f" {
		t.Errorf("got %v, %v", info, err)
	}
	for name, tt := range map[string]struct {
		got  error
		want error
	}{
		"missing":             {errOf(d.ReadFile("nope")), fs.ErrNotExist},
		"not a directory":     {d.WriteFile("a/b/f/g", nil, 0o600), syscall.ENOTDIR},
		"a directory":         {errOf(d.ReadFile("a")), syscall.EISDIR},
		"not empty":           {d.Remove("a"), syscall.ENOTEMPTY},
		"exists":              {d.Symlink("x", "a"), fs.ErrExist},
		"into itself":         {d.Rename("a", "a/b/c"), syscall.EINVAL},
		"the root":            {d.Remove("/"), syscall.EBUSY},
		"long name":           {d.WriteFile(strings.Repeat("x", 300), nil, 0o600), syscall.ENAMETOOLONG},
		"long path":           {d.WriteFile(strings.Repeat("x/", 3000), nil, 0o600), syscall.ENAMETOOLONG},
		"outside":             {errOf(d.ReadFile("../../../etc/passwd")), fs.ErrNotExist},
		"missing is no error": {d.RemoveAll("nope/x"), nil},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, tt.got, tt.want)
		}
	}
	must(t, d.Symlink("loop", "loop"))
	if _, err := d.ReadFile("loop"); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a loop: got %v", err)
	}
	must(t, d.RemoveAll("/a"))
	if entries, err := d.ReadDir("/"); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v", entries, err)
	}
}

// TestConcurrentFiles is for the race detector.
func TestConcurrentFiles(t *testing.T) {
	d := NewDir(1 << 20)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			f := NewFS(1 << 20)
			if err := f.Mount("/v", d, MountOptions{ReadOnly: i == 3}); err != nil {
				t.Error(err)
			}
			_, _, _ = run(t, Config{FS: f, Args: []string{"sh", "-c",
				`cd /v; for i in 1 2 3 4 5 6 7 8; do echo $i >f; cat f >/dev/null; mkdir -p d/e; mv f d/e; ln -s d l; ls -lR . >/dev/null; rm -rf d l & echo x >>l; wait; done`}})
		})
	}
	for range 100 {
		must(t, d.WriteFile("key", []byte("x"), 0o644))
		_, _ = d.ReadFile("key")
	}
	wg.Wait()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func errOf[T any](_ T, err error) error { return err }

// A subPath may have as many elements as a path has room for.
func TestMkdirAllOfADeepPath(t *testing.T) {
	d := NewDir(1 << 24)
	deep := strings.TrimSuffix(strings.Repeat("a/", maxPath/2-1), "/")
	must(t, d.MkdirAll(deep, 0o755))
	must(t, d.WriteFile(deep+"/f", nil, 0o600))
	for name, want := range map[string]error{
		deep: nil, deep + "/f": syscall.ENOTDIR, deep + "/b/c": syscall.ENAMETOOLONG, strings.Repeat("b/", 1<<20): syscall.ENAMETOOLONG,
	} {
		if err := d.MkdirAll(name, 0o755); !errors.Is(err, want) {
			t.Errorf("…%s: got %v, want %v", name[len(name)-3:], err, want)
		}
	}
}
