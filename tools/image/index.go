package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is a built ctrlplane and the platform that it is for.
type program struct {
	platform v1.Platform
	path     string
}

// parsePrograms reads arguments of the form linux/amd64=PATH.
func parsePrograms(args []string) ([]program, error) {
	if len(args) == 0 {
		return nil, fmt.Errorf("give at least one program, as linux/amd64=PATH")
	}
	programs := make([]program, len(args))
	for i, arg := range args {
		platform, path, found := strings.Cut(arg, "=")
		goos, arch, slash := strings.Cut(platform, "/")
		if !found || !slash || path == "" || goos != "linux" {
			return nil, fmt.Errorf("%q: want linux/ARCH=PATH", arg)
		}
		programs[i] = program{v1.Platform{OS: goos, Architecture: arch}, path}
	}
	return programs, nil
}

// newIndex returns an image for each program, with the files of licences, under one index.
func newIndex(programs []program, licences []string, version string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := newImage(p, licences, version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &p.platform},
		})
	}
	return index, nil
}

// user owns /data and runs the program: it has no name, as there is no /etc/passwd.
const user = 65532

func newImage(p program, licences []string, version string) (v1.Image, error) {
	files, err := newFiles(p.path, licences)
	if err != nil {
		return nil, err
	}
	opener := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil }
	layer, err := tarball.LayerFromOpener(opener, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(mutate.ConfigMediaType(image, types.OCIConfigJSON), newConfig(config, p.platform, version))
}

// newConfig returns the configuration of an image with a platform, and to serve on all addresses of the container, at a
// fixed port, with all data in the volume /data.
func newConfig(layers *v1.ConfigFile, platform v1.Platform, version string) *v1.ConfigFile {
	config := layers.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{"/ctrlplane"},
		Cmd:          []string{"up", "--ui", "plain", "--bind-address", "0.0.0.0", "--port", "6443"},
		Env:          []string{"PATH=/", "HOME=/data", "TMPDIR=/data", "CTRLPLANE_DATA_DIR=/data/ctrlplane"},
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{"6443/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "ctrlplane",
			"org.opencontainers.image.source":   "https://github.com/ctrlplane/ctrlplane",
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.version":  version,
		},
	}
	return config
}

// newFiles returns the layer: the program, the files of licences, and a folder that the user
// may write to. Its times are those of the beginning of 1970, so that equal programs give equal
// images.
func newFiles(path string, licences []string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := addFile(w, "ctrlplane", 0o755, path); err != nil {
		return nil, err
	}
	if err := addHeader(w, tar.Header{Name: "licenses/", Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
		return nil, err
	}
	for _, licence := range licences {
		if err := addFile(w, "licenses/"+filepath.Base(licence), 0o644, licence); err != nil {
			return nil, err
		}
	}
	if err := addHeader(w, tar.Header{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: user, Gid: user}); err != nil {
		return nil, err
	}
	return out.Bytes(), w.Close()
}

func addFile(w *tar.Writer, name string, mode int64, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := addHeader(w, tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: mode, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err = w.Write(content)
	return err
}

func addHeader(w *tar.Writer, h tar.Header) error {
	h.ModTime = time.Unix(0, 0)
	return w.WriteHeader(&h)
}
