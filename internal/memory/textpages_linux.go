package memory

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// dropTextPages removes the pages of the executable file from this process's
// resident memory: most are code that runs only during the start. Those that are
// needed again come back from the page cache, with one minor fault each. Mappings
// that hold anything but the file's content stay as they are.
func dropTextPages() error {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer f.Close()
	var start, end uintptr // of the mapping that the following lines describe; 0 = not of the executable
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && strings.Contains(fields[0], "-") && !strings.HasSuffix(fields[0], ":"):
			start, end = 0, 0
			if len(fields) == 6 && fields[5] == exe && strings.HasPrefix(fields[1], "r") && fields[1][1] != 'w' {
				if _, err := fmt.Sscanf(fields[0], "%x-%x", &start, &end); err != nil {
					return err
				}
			}
		case start != 0 && fields[0] == "Private_Dirty:" && fields[1] == "0":
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, start, end-start, unix.MADV_DONTNEED); errno != 0 {
				return errno
			}
		}
	}
	return lines.Err()
}
