package command_test

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// testHostileCopy copies with kubectl cp what tries to leave the folder that it is copied
// to: into the Pod scripted, and out of it.
func testHostileCopy(t *testing.T, dir string) {
	run := func(stdin []byte, args ...string) (string, int) {
		t.Helper()
		cmd := program.Command(t, append([]string{"--data-dir", dir, "kubectl"}, args...)...)
		cmd.Stdin = bytes.NewReader(stdin)
		out, stderr, code := program.Run(t, cmd)
		return out + stderr, code
	}
	local := t.TempDir()
	outside := filepath.Join(local, "outside")
	testutil.WriteFile(t, outside, "of the host\n")

	source := filepath.Join(local, "source")
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(source, "link")); err != nil {
		t.Fatal(err)
	}
	if out, code := run(nil, "cp", source, "scripted:/tmp/in"); code != 0 {
		t.Errorf("copy of a link: %d, %s", code, out)
	}
	if out, code := run(nil, "exec", "scripted", "--", "sh", "-c", "readlink /tmp/in/link; cat /tmp/in/link"); code != 1 || strings.Contains(out, "of the host") || !strings.Contains(out, outside) {
		t.Errorf("the link in the Pod: %d, %s", code, out)
	}

	evil := hostileArchive(t, outside)
	if out, code := run(evil, "exec", "-i", "scripted", "--", "tar", "xmf", "-", "-C", "/tmp/in"); code != 1 || !strings.Contains(out, "device: this kind of entry is not simulated") {
		t.Errorf("extraction in the Pod: %d, %s", code, out)
	}
	const emit = "cat > /tmp/evil.tar && rm /bin/tar && printf '#!/bin/sh\ncat /tmp/evil.tar\n' > /bin/tar && chmod +x /bin/tar"
	if out, code := run(evil, "exec", "-i", "scripted", "--", "sh", "-c", emit); code != 0 {
		t.Fatalf("replace tar: %d, %s", code, out)
	}
	out, _ := run(nil, "cp", "scripted:/tmp/x", filepath.Join(local, "into"))
	if !strings.Contains(out, "warning") {
		t.Errorf("kubectl cp says %s", out)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "of the host\n" {
		t.Errorf("a file of the host has %q, %v", text, err)
	}
	for _, name := range filesBelow(t, local) {
		if within := strings.HasPrefix(name, "into") || strings.HasPrefix(name, "source") || name == "outside"; !within {
			t.Errorf("kubectl cp has written %s", name)
		}
	}
}

// hostileArchive returns an archive as kubectl cp gets it from a Pod for /tmp/x, with
// entries that are outside of it.
func hostileArchive(t *testing.T, outside string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "tmp/x/good", Typeflag: tar.TypeReg},
		{Name: "tmp/x/../../../escaped", Typeflag: tar.TypeReg},
		{Name: "../escaped", Typeflag: tar.TypeReg},
		{Name: outside, Typeflag: tar.TypeReg},
		{Name: "tmp/x/up", Typeflag: tar.TypeSymlink, Linkname: ".."},
		{Name: "tmp/x/up/escaped", Typeflag: tar.TypeReg},
		{Name: "tmp/x/file", Typeflag: tar.TypeSymlink, Linkname: outside},
		{Name: "tmp/x/file", Typeflag: tar.TypeReg},
		{Name: "tmp/x/hard", Typeflag: tar.TypeLink, Linkname: outside},
		{Name: "tmp/x/device", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5},
	} {
		const text = "from the Pod\n"
		if h.Mode = 0o644; h.Typeflag == tar.TypeReg {
			h.Size = int64(len(text))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func filesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
