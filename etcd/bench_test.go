package etcd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// BenchmarkStart starts without a data folder and closes.
func BenchmarkStart(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		b.Run(fmt.Sprintf("NoSync=%v", noSync), func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				cfg := Config{Dir: filepath.Join(dir, "data"), NoSync: noSync}
				startAndClose(b, cfg)
				b.StopTimer()
				if err := os.RemoveAll(cfg.Dir); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkRestart starts on a folder of 2000 objects of 2 KiB.
func BenchmarkRestart(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		b.Run(fmt.Sprintf("NoSync=%v", noSync), func(b *testing.B) {
			cfg := Config{Dir: b.TempDir(), NoSync: noSync}
			s := startServer(b, Config{Dir: cfg.Dir, NoSync: true})
			putObjects(b, dialEmbedded(b, s))
			closeServer(b, s)
			for b.Loop() {
				startAndClose(b, cfg)
			}
		})
	}
}

func startAndClose(b *testing.B, cfg Config) {
	s, err := Start(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	closeServer(b, s)
}

const benchObjects = 2000

func putObjects(b *testing.B, c *clientv3.Client) {
	value := strings.Repeat("v", 2<<10)
	for i := range benchObjects {
		putKey(b, c, fmt.Sprintf("/registry/pods/%d", i), value)
	}
}

// BenchmarkList reads 4 MiB at once, as an informer does.
func BenchmarkList(b *testing.B) {
	c := dialEmbedded(b, startServer(b, Config{Dir: b.TempDir(), NoSync: true}))
	putObjects(b, c)
	b.SetBytes(benchObjects * 2 << 10)
	for b.Loop() {
		if _, err := c.Get(b.Context(), "/registry/", clientv3.WithPrefix()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet(b *testing.B) {
	c := dialEmbedded(b, startServer(b, Config{Dir: b.TempDir(), NoSync: true}))
	putKey(b, c, "k", "v")
	for b.Loop() {
		if _, err := c.Get(b.Context(), "k"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		b.Run(fmt.Sprintf("NoSync=%v", noSync), func(b *testing.B) {
			c := dialEmbedded(b, startServer(b, Config{Dir: b.TempDir(), NoSync: noSync}))
			for b.Loop() {
				if _, err := c.Put(b.Context(), "k", "v"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
