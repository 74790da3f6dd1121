package testutil

import (
	"flag"
	"strconv"
)

// SetParallel sets how many tests run in parallel, unless the flag -parallel does. TestMain
// calls it where tests mostly wait for another process: Go's default is one per CPU.
func SetParallel(n int) error {
	if !flag.Parsed() {
		flag.Parse()
	}
	const name = "test.parallel"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return nil
	}
	return flag.Set(name, strconv.Itoa(n))
}
