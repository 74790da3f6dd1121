package kubeconfig

import "os"

// chownLike does nothing: a new file belongs to whom its folder says.
func chownLike(*os.File, os.FileInfo) error { return nil }
