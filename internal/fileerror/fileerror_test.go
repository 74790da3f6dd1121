package fileerror

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"testing"
)

func TestWithoutPath(t *testing.T) {
	for _, c := range []struct{ err, want error }{
		{fmt.Errorf("save: %w", &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrExist}), fs.ErrExist},
		{&os.LinkError{Op: "rename", Old: "/x", New: "/y", Err: fs.ErrPermission}, fs.ErrPermission},
		{io.EOF, io.EOF},
		{nil, nil},
	} {
		if got := WithoutPath(c.err); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v: got %v", c.err, got)
		}
	}
}
