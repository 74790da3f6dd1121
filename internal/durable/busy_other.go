//go:build !windows

package durable

func isBusy(error) bool { return false }
