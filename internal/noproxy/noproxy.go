// Package noproxy extends lists of addresses that are reached without a proxy, as NO_PROXY has them.
package noproxy

import (
	"slices"
	"strings"
)

// Add returns a list, or instead of an empty one the other, with more addresses.
func Add(list, other string, more ...string) string {
	if list == "" {
		list = other
	}
	addresses := slices.DeleteFunc(strings.Split(list, ","), func(s string) bool { return strings.TrimSpace(s) == "" })
	for _, add := range more {
		if !slices.Contains(addresses, add) && !slices.Contains(addresses, "*") {
			addresses = append(addresses, add)
		}
	}
	return strings.Join(addresses, ",")
}
