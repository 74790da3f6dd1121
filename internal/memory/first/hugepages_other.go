//go:build !linux

package first

func adviseHugePages() {}
