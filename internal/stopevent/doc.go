// Package stopevent asks a process of Windows to end, where other systems have SIGTERM.
package stopevent
