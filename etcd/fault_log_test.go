package etcd

import (
	"bytes"
	"fmt"
	"os"
	"testing"
)

func TestRefusesDamagedLog(t *testing.T) {
	runFaultCases(t, map[string]faultCase{
		"log damaged in the middle": {
			func(t *testing.T, dir string) {
				editFile(t, logFiles(t, dir)[0], func(b []byte) []byte {
					at := bytes.Index(b, []byte("k30"))
					copy(b[at:], "????")
					return b
				})
			},
			[]string{".wal is damaged", "crc mismatch", backupAdvice},
		},
		"log missing": {
			func(t *testing.T, dir string) { must(t, os.RemoveAll(logDir(dir))) },
			[]string{"wal has no write-ahead log", backupAdvice},
		},
		"not a log": {
			func(t *testing.T, dir string) {
				editFile(t, logFiles(t, dir)[0], func([]byte) []byte { return bytes.Repeat([]byte{7}, 4096) })
			},
			[]string{".wal", backupAdvice},
		},
		"file of the log missing": {
			func(t *testing.T, dir string) {
				growLog(t, dir)
				must(t, os.Remove(logFiles(t, dir)[1]))
			},
			[]string{".wal is damaged", "does not continue the file before it", backupAdvice},
		},
		"truncated file before the end of the log": {
			func(t *testing.T, dir string) {
				growLog(t, dir)
				path := logFiles(t, dir)[1]
				info, err := os.Stat(path)
				must(t, err)
				must(t, os.Truncate(path, info.Size()-1000))
			},
			[]string{".wal is damaged", "unexpected EOF", backupAdvice},
		},
		"database missing and log incomplete": {
			func(t *testing.T, dir string) {
				snapshotLog(t, dir)
				must(t, os.Remove(dbFile(dir)))
			},
			[]string{"snap/db is missing or older than the write-ahead log", backupAdvice},
		},
	})
}

// A start succeeds on folders that look damaged but have lost nothing.
func TestRecoversWithoutLoss(t *testing.T) {
	const keys = 50
	tests := map[string]func(t *testing.T, dir string){
		"incomplete record at the end of the log": func(t *testing.T, dir string) {
			editFile(t, logFiles(t, dir)[0], func(b []byte) []byte {
				// A crash of the machine may leave the length of a record and a part of
				// its content. Records begin at multiples of 8.
				end := (len(bytes.TrimRight(b, "\x00")) + 7) / 8 * 8
				return append(b[:end], 200, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3)
			})
		},
		"log shorter than the database": func(t *testing.T, dir string) {
			editFile(t, logFiles(t, dir)[0], func(b []byte) []byte { return b[:bytes.Index(b, []byte("k10"))] })
		},
		"log begins at a snapshot": snapshotLog,
		"database missing":         func(t *testing.T, dir string) { must(t, os.Remove(dbFile(dir))) },
		"database empty": func(t *testing.T, dir string) {
			must(t, os.Truncate(dbFile(dir), 0))
		},
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			dir := newFilledDir(t, keys)
			damage(t, dir)
			for range 2 {
				s := startServer(t, Config{Dir: dir})
				c := dialEmbedded(t, s)
				for i := range keys {
					getKey(t, c, fmt.Sprintf("k%d", i))
				}
				rev := putKey(t, c, "new", "v")
				if _, mod := getKey(t, c, "new"); mod != rev {
					t.Errorf("a write acknowledged at revision %d reads back at %d", rev, mod)
				}
				closeServer(t, s)
			}
		})
	}
}
