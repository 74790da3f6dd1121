package oneline

import (
	"errors"
	"io"
	"io/fs"
	"testing"
)

func TestError(t *testing.T) {
	err := Error(errors.Join(io.EOF, fs.ErrExist))
	if got := err.Error(); got != "EOF file already exists" {
		t.Errorf("got %q", got)
	}
	if !errors.Is(err, fs.ErrExist) {
		t.Error("the cause is lost")
	}
}

func TestJoin(t *testing.T) {
	if err := Join(nil, nil); err != nil {
		t.Errorf("got %v", err)
	}
	err := Join(nil, errors.New("two\n\tlines of \"a  b\"\n"), Join(io.EOF, fs.ErrExist))
	if got := err.Error(); got != `two lines of "a  b"; EOF; file already exists` {
		t.Errorf("got %q", got)
	}
	if !errors.Is(err, io.EOF) {
		t.Error("the cause is lost")
	}
}
