//go:build unix

package datadir

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

func TestExplainError(t *testing.T) {
	tests := []struct {
		err          error
		folder, temp string
	}{
		{
			err:    syscall.EACCES,
			folder: "data folder /d cannot be used (open /d/x: permission denied): make it writable, or choose another --data-dir",
			temp:   "temporary folder in /d cannot be created (open /d/x: permission denied): make /d writable, or set TMPDIR to another folder",
		},
		{
			err:    syscall.ENOSPC,
			folder: "data folder /d: the disk is full (open /d/x: no space left on device): free space, or choose another --data-dir",
			temp:   "temporary folder in /d: the disk is full (open /d/x: no space left on device): free space, or set TMPDIR to another folder",
		},
		{
			err:    syscall.EROFS,
			folder: "data folder /d cannot be used (open /d/x: read-only file system): make it writable, or choose another --data-dir",
			temp:   "temporary folder in /d cannot be created (open /d/x: read-only file system): make /d writable, or set TMPDIR to another folder",
		},
		{
			err:    errors.New("input/output error"),
			folder: "data folder /d: cannot write it: open /d/x: input/output error: fix the cause, or choose another --data-dir",
			temp:   "temporary folder in /d: open /d/x: input/output error: fix the cause, or set TMPDIR to another folder",
		},
	}
	for _, test := range tests {
		t.Run(test.err.Error(), func(t *testing.T) {
			cause := &fs.PathError{Op: "open", Path: "/d/x", Err: test.err}
			for want, got := range map[string]error{
				test.folder: explainError("/d", "write it", cause),
				test.temp:   explainTempError("/d", cause),
			} {
				if got.Error() != want || !errors.Is(got, test.err) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestCheckListSeparator(t *testing.T) {
	t.Setenv("TMPDIR", "/tmp/a:b")
	for path, want := range map[string]string{
		"/d":     "",
		"/d/a:b": `data folder /d/a:b: KUBECONFIG cannot name a file there, because ":" separates its files: choose a --data-dir without ":"`,
		"":       `folder for temporary files /tmp/a:b: KUBECONFIG cannot name a file there, because ":" separates its files: set TMPDIR to one without ":"`,
	} {
		got := ""
		if err := CheckListSeparator(path); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
