// Command image assembles the OCI image of a release: the program, licences and nothing else,
// for each platform, without a container daemon.
//
//	image -o DIR -license FILE linux/amd64=PATH linux/arm64=PATH    write an OCI image layout
//	image -push NAME:TAG -license FILE linux/amd64=PATH …           push to a registry, with the credentials of docker login
package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/ctrlplane/ctrlplane/tools/internal/command"
)

func main() { command.Main("image", run) }

func run(ctx context.Context, args []string, _, _ io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	folder := flags.String("o", "", "`folder` to write an OCI image layout to")
	reference := flags.String("push", "", "`name:tag` to push the image as")
	version := flags.String("version", "", "`version` to say in the image's labels")
	var licences []string
	flags.Func("license", "`file` for the folder /licenses; can be repeated", func(path string) error {
		licences = append(licences, path)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	if (*folder == "") == (*reference == "") {
		return fmt.Errorf("give one of -o and -push")
	}
	programs, err := parsePrograms(flags.Args())
	if err != nil {
		return err
	}
	if len(licences) == 0 {
		return fmt.Errorf("give at least one -license: they must accompany the program")
	}
	index, err := newIndex(programs, licences, *version)
	if err != nil {
		return err
	}
	if *folder != "" {
		return writeLayout(*folder, index)
	}
	return push(ctx, *reference, index)
}

func writeLayout(folder string, index v1.ImageIndex) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index)
}

func push(ctx context.Context, reference string, index v1.ImageIndex) error {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return err
	}
	return remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
