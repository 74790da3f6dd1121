package jobobject

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Job is a process with all that it starts. They are killed when this process ends, unless Release
// was called. All methods may be called at any time, by any goroutine.
type Job struct {
	mu       sync.Mutex
	handle   windows.Handle
	released bool

	// On the heap, which does not move: x/sys takes their addresses as uintptr, which do not follow a stack that
	// grows (golang/go#17908).
	limits  windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	account accounting
}

// New returns the job of a process that was just started. What the process has started before it
// is in the job is not part of it: package os cannot start a process suspended and resume it.
func New(p *os.Process) (*Job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	j := &Job{handle: handle}
	var assignErr error
	err = errors.Join(j.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE), p.WithHandle(func(process uintptr) {
		assignErr = windows.AssignProcessToJobObject(handle, windows.Handle(process))
	}))
	if err = errors.Join(err, assignErr); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(handle))
	}
	return j, nil
}

func (j *Job) limit(flags uint32) error {
	j.limits.BasicLimitInformation.LimitFlags = flags
	_, err := windows.SetInformationJobObject(j.handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&j.limits)), uint32(unsafe.Sizeof(j.limits)))
	runtime.KeepAlive(j)
	return err
}

// Kill kills the processes of the job. They end a little later.
func (j *Job) Kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.released {
		_ = windows.TerminateJobObject(j.handle, 1) // what cannot be killed, Runs reports
	}
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION of winnt.h.
type accounting struct {
	userTime, kernelTime, periodUserTime, periodKernelTime int64
	pageFaults, processes, active, terminated              uint32
}

// Runs reports whether a process of the job runs.
func (j *Job) Runs() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.released {
		return false
	}
	err := windows.QueryInformationJobObject(j.handle, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&j.account)), uint32(unsafe.Sizeof(j.account)), nil)
	return err == nil && j.account.active > 0 // j lives until the deferred call
}

// Release lets the processes that still run continue, also after the end of this process.
func (j *Job) Release() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.released {
		j.released = true
		_ = j.limit(0) // if this fails, they are killed now
		_ = windows.CloseHandle(j.handle)
	}
}
