// Command site turns README.md and docs/ into a web site of static files: searchable,
// one folder a version, with every link checked. It needs no network.
//
//	site -o DIR [-version v1.2.3] [-repository .]
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	folder := flag.String("o", "", "`folder` to write to; one below it, named after the version, is replaced")
	version := flag.String("version", "main", "`version` that the pages are about")
	repository := flag.String("repository", ".", "`folder` of the repository")
	flag.Parse()
	if *folder == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "site: give the folder to write to, as -o DIR")
		os.Exit(2)
	}
	if err := build(*repository, *folder, *version); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}
