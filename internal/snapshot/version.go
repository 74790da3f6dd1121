package snapshot

import (
	"fmt"
	"strings"
)

// CheckKubernetesVersion says whether a program of release ours can take a state that
// release theirs has stored. As with upgrades of Kubernetes, that is the same
// minor version and the one before.
func CheckKubernetesVersion(theirs, ours string) error {
	major, minor, err := parseMinorVersion(theirs)
	if err != nil {
		return fmt.Errorf("it does not say which Kubernetes has written it: %w: save it again", err)
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
	return fmt.Errorf("it is from Kubernetes %s, this is %s, which takes what v%d.%d and v%d.%d have stored: use a ctrlplane of that release",
		theirs, ours, ourMajor, ourMinor-1, ourMajor, ourMinor)
}

func parseMinorVersion(version string) (major, minor int, err error) {
	if _, err := fmt.Sscanf(strings.TrimPrefix(version, "v"), "%d.%d", &major, &minor); err != nil {
		return 0, 0, fmt.Errorf("%q is no version", version)
	}
	return major, minor, nil
}
