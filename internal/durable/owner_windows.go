package durable

import "os"

// chownLike does nothing, because the folder determines the owner of a new file.
func chownLike(*os.File, os.FileInfo) error { return nil }
