package snapshot

import (
	"fmt"
	"strings"
)

// CheckKubernetesVersion returns why a program with the Kubernetes release ours cannot use
// a state that the release theirs has stored. As in upgrades of Kubernetes, the minor
// versions must be equal, or theirs one lower.
func CheckKubernetesVersion(theirs, ours string) error {
	major, minor, err := parseMinorVersion(theirs)
	if err != nil {
		return fmt.Errorf("it does not name the Kubernetes version that wrote it: %w: save it again", err)
	}
	ourMajor, ourMinor, err := parseMinorVersion(ours)
	if err != nil {
		return err
	}
	switch {
	case major != ourMajor:
	case minor > ourMinor:
	case minor < ourMinor-1:
	default:
		return nil
	}
	return fmt.Errorf("it is from Kubernetes %s, this is %s, which can use snapshots of v%d.%d and v%d.%d: use a ctrlplane of that release",
		theirs, ours, ourMajor, ourMinor-1, ourMajor, ourMinor)
}

func parseMinorVersion(version string) (major, minor int, err error) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor); err != nil {
		return 0, 0, fmt.Errorf("%q is not a version", version)
	}
	return major, minor, nil
}
