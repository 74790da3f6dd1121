// Package jobobject ends a process of Windows together with what it has started. Other systems
// have process groups for that.
package jobobject
