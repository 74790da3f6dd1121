//go:build !linux

package main

// runningProgram returns path: only Linux has a path for a program that runs.
func runningProgram(path string) string { return path }
