package shell

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// archive returns an archive with entries that a well-behaved tar does not write.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range entries {
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		data := ""
		if h.Typeflag == tar.TypeReg {
			data = "written by the archive\n"
			h.Size = int64(len(data))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// hostileEntries try to write outside of the folder that they are extracted to.
var hostileEntries = []tar.Header{
	{Name: "../../../../../../etc/passwd", Typeflag: tar.TypeReg},
	{Name: "/etc/group", Typeflag: tar.TypeReg},
	{Name: "a/../../b/../../../etc/hosts", Typeflag: tar.TypeReg},
	{Name: "root", Typeflag: tar.TypeSymlink, Linkname: "/"},
	{Name: "root/etc/profile", Typeflag: tar.TypeReg},
	{Name: "up", Typeflag: tar.TypeSymlink, Linkname: "../../../../../../.."},
	{Name: "up/bin/ls", Typeflag: tar.TypeReg},
	{Name: "config", Typeflag: tar.TypeSymlink, Linkname: "/config"},
	{Name: "config/key", Typeflag: tar.TypeReg},
	{Name: "config/new", Typeflag: tar.TypeReg},
	{Name: "key", Typeflag: tar.TypeLink, Linkname: "../config/key"},
	{Name: "key", Typeflag: tar.TypeReg},
	{Name: "rootkey", Typeflag: tar.TypeLink, Linkname: "config/key"},
	{Name: "rootkey", Typeflag: tar.TypeReg},
	{Name: "loop", Typeflag: tar.TypeSymlink, Linkname: "loop"},
	{Name: "loop/x", Typeflag: tar.TypeReg},
	{Name: "zero", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5},
	{Name: "disk", Typeflag: tar.TypeBlock, Devmajor: 8},
	{Name: "fifo", Typeflag: tar.TypeFifo},
	{Name: "dir/", Typeflag: tar.TypeDir, Mode: 0o7777},
	{Name: "dir", Typeflag: tar.TypeReg},
	{Name: "..", Typeflag: tar.TypeReg},
	{Name: "/", Typeflag: tar.TypeSymlink, Linkname: "/config"},
	{Name: strings.Repeat("d/", 3000) + "f", Typeflag: tar.TypeReg},
	{Name: "last", Typeflag: tar.TypeReg},
}

// TestHostileArchive extracts an archive into a container, as kubectl cp does: what it
// writes stays in its own files, and read-only volumes stay as they are.
func TestHostileArchive(t *testing.T) {
	for command, last := range map[string]string{"tar xmf - -C /tmp/to": "/tmp/to/last", "tar -xmf - -C /": "/last", "tar -x --strip-components 1 -C /tmp": "/tmp/passwd"} {
		args := strings.Fields(command)
		config := NewDir(0)
		must(t, config.WriteFile("key", []byte("kept"), 0o666))
		const limit = 64 << 10
		files := NewFS(limit)
		must(t, files.Mount("/config", config, MountOptions{ReadOnly: true}))
		must(t, files.MkdirAll("/tmp/to", 0o777))
		_, errOut, result := run(t, Config{Args: args, FS: files, Stdin: bytes.NewReader(archive(t, hostileEntries...))})
		if result.ExitCode != 1 || strings.Contains(errOut, "simulation failed") {
			t.Errorf("%q: got %+v, %s", args, result, errOut)
		}
		if text, err := config.ReadFile("key"); err != nil || string(text) != "kept" {
			t.Errorf("%q: the read-only volume has %q, %v", args, text, err)
		}
		if entries, err := config.ReadDir("/"); err != nil || len(entries) != 1 {
			t.Errorf("%q: the read-only volume has %v, %v", args, entries, err)
		}
		if used := files.Root().Used(); used > limit {
			t.Errorf("%q: %d bytes are stored", args, used)
		}
		if _, err := files.Stat(last); err != nil {
			t.Errorf("%q: %v", args, err)
		}
		if out, _, _ := script(t, "cat /etc/passwd /etc/group; ls /"); strings.Contains(out, "archive") || strings.Contains(out, "last") {
			t.Errorf("%q: another container has %s", args, out)
		}
	}
}

// TestHugeArchives extracts archives that are larger than they look. They end with an
// error when the container is full, or when it is killed.
func TestHugeArchives(t *testing.T) {
	header := func(size int64) []byte {
		var b bytes.Buffer
		if err := tar.NewWriter(&b).WriteHeader(&tar.Header{Name: "big", Typeflag: tar.TypeReg, Mode: 0o644, Size: size}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed) // the level changes only how long this takes
	must(t, err)
	if _, err := z.Write(append(header(1<<30), make([]byte, 64<<20)...)); err != nil {
		t.Fatal(err)
	}
	must(t, z.Close())
	records := archive(t, tar.Header{Name: "x", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"A.b": strings.Repeat("x", 900<<10)}})
	endless := func(head []byte) io.Reader { return io.MultiReader(bytes.NewReader(head), zeros{}) }
	for name, c := range map[string]struct {
		in    io.Reader
		flags string
		ends  bool
	}{
		"cut off":                  {bytes.NewReader(header(1 << 40)), "xf", true},
		"more than fits":           {io.MultiReader(bytes.NewReader(header(8<<20)), io.LimitReader(zeros{}, 8<<20+1024)), "xf", true},
		"endless":                  {endless(header(1 << 60)), "xf", false},
		"endless, listed":          {endless(header(1 << 60)), "tf", false},
		"endless, to output":       {endless(header(1 << 60)), "xOf", false},
		"compressed":               {bytes.NewReader(bomb.Bytes()), "xzf", true},
		"large records":            {bytes.NewReader(records), "xf", true},
		"many entries":             {bytes.NewReader(manyEntries(t)), "xf", true},
		"a long name, never ended": {endless(longName(1 << 40)), "xf", true},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			files := NewFS(1 << 20)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if !c.ends {
				killed := time.AfterFunc(longest, cancel)
				defer killed.Stop()
			}
			result, err := Run(ctx, Config{Args: []string{"tar", c.flags, "-", "-C", "/tmp"}, FS: files, Stdin: c.in, Stdout: io.Discard, Stderr: io.Discard, Limits: Limits{CPUShare: 100}})
			if err != nil || c.ends == (result.ExitCode == 137) {
				t.Errorf("got %+v, %v", result, err)
			}
			if used := files.Root().Used(); used > 1<<20 {
				t.Errorf("%d bytes are stored", used)
			}
			runtime.ReadMemStats(&after)
			if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 256<<20 {
				t.Errorf("memory grew by %d MiB", grown>>20)
			}
		})
	}
}

// manyEntries returns an archive of empty folders, in each other and side by side.
func manyEntries(t *testing.T) []byte {
	var list []tar.Header
	for i := range 5000 {
		list = append(list, tar.Header{Name: fmt.Sprintf("d%d/", i), Typeflag: tar.TypeDir}, tar.Header{Name: strings.Repeat("e/", i%200+1), Typeflag: tar.TypeDir})
	}
	return archive(t, list...)
}

// longName returns the header of a name that is said to be long.
func longName(size int64) []byte {
	h := make([]byte, 512)
	copy(h, "././@LongLink")
	copy(h[100:], "0000644\x00")
	h[124] = 0x80 // the size is binary
	for i := range 8 {
		h[128+i] = byte(size >> (8 * (7 - i)))
	}
	h[156] = 'L'
	copy(h[257:], "ustar  \x00")
	copy(h[148:], "        ")
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[148:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

func FuzzTar(f *testing.F) {
	f.Add(archive(f, hostileEntries...), true)
	f.Add(longName(1<<20), false)
	f.Fuzz(func(t *testing.T, in []byte, verbose bool) {
		flags := "xf"
		if verbose {
			flags = "xvpf"
		}
		fuzzRun(t, Config{Args: []string{"tar", flags, "-", "-C", "/tmp"}, Stdin: bytes.NewReader(in)})
		fuzzRun(t, Config{Args: []string{"tar", "tvf", "-"}, Stdin: bytes.NewReader(in)})
	})
}
