package kubeconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// editFile changes a file under its lock. It writes nothing if change fails or changes
// nothing.
func editFile(path string, change func(*editedFile) error) (err error) {
	made, err := durable.MkdirAll(filepath.Dir(path), false)
	defer func() {
		for _, dir := range slices.Backward(made) {
			if err != nil {
				_ = os.Remove(dir) // fails if the folder is not empty, as it should
			}
		}
	}()
	if err != nil {
		return explainError(path, err)
	}
	unlock, err := lockFile(path)
	if err != nil {
		return err
	}
	defer func() {
		if unlockErr := unlock(); err == nil && unlockErr != nil {
			err = explainError(path, unlockErr)
		}
	}()
	return editLocked(path, change)
}

// editLocked is editFile for a file that is locked.
func editLocked(path string, change func(*editedFile) error) error {
	cfg, info, err := loadFile(path)
	if err != nil {
		return err
	}
	f := &editedFile{Config: cfg, path: path, existed: info != nil, mode: 0o600}
	if info != nil {
		f.mode = info.Mode().Perm()
	}
	before, err := clientcmd.Write(*cfg)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	if err := change(f); err != nil {
		return err
	}
	after, err := clientcmd.Write(*f.Config)
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w", path, err)
	}
	switch {
	case string(before) == string(after):
		return nil
	case f.removeIfEmpty && clientcmdapi.IsConfigEmpty(f.Config):
		err = durable.Remove(path, false)
	default:
		err = replaceFile(path, after, f.mode, info, true)
	}
	if err != nil {
		return explainError(path, err)
	}
	return nil
}

// replaceFile replaces a kubeconfig atomically; like is the existing one, nil if there is none.
func replaceFile(path string, data []byte, mode os.FileMode, like os.FileInfo, isDurable bool) error {
	return durable.Rewrite(path, data, durable.RewriteOptions{Mode: mode, Like: like, TempPrefix: "." + filepath.Base(path) + ".new-", Durable: isDurable})
}

// explainError returns an error of the file system as one line that says what failed, why,
// and what to do.
func explainError(path string, err error) error {
	const other = "or name another file in KUBECONFIG"
	switch {
	case fileerror.IsDiskFull(err):
		return fmt.Errorf("kubeconfig %s: the disk is full (%w): free space, %s", path, err, other)
	case fileerror.IsNotWritable(err):
		return fmt.Errorf("kubeconfig %s: %w: make the file and its folder writable, %s", path, err, other)
	}
	return fmt.Errorf("kubeconfig %s: %w: fix the cause, %s", path, err, other)
}
