package nodes

import (
	"crypto/sha256"
	"fmt"

	"k8s.io/kubernetes/pkg/util/parsers"
)

// imageID returns the ID of an image as containerd reports it: the full name of its repository with a digest.
// What the image contains is not known: unless its name has the digest, it is that of the name.
func imageID(image string) string {
	repository, tag, digest, err := parsers.ParseImageName(image)
	if err != nil {
		return image
	}
	if digest == "" {
		digest = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(repository+":"+tag)))
	}
	return repository + "@" + digest
}
