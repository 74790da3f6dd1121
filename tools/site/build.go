package main

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/semver"
)

//go:embed theme
var theme embed.FS

var pageTemplate = template.Must(template.ParseFS(theme, "theme/page.html"))

// versionName is what may be the name of a version's folder.
var versionName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+-]*$`)

// build writes the site of a version, and what leads to the newest version.
func build(repository, folder, version string) error {
	if !versionName.MatchString(version) {
		return fmt.Errorf("-version %q: want a name such as v1.2.3", version)
	}
	pages, err := readPages(repository)
	if err != nil {
		return err
	}
	contents, err := readContents(pages)
	if err != nil {
		return err
	}
	dir := filepath.Join(folder, version)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writePages(repository, dir, version, pages, contents); err != nil {
		return err
	}
	if err := writeSearchIndex(dir, pages); err != nil {
		return err
	}
	if err := os.CopyFS(dir, assetsOfTheme()); err != nil {
		return err
	}
	return writeVersions(folder)
}

// writePages writes each page and what it shows. Links that lead nowhere are an error.
func writePages(repository, dir, version string, pages map[string]*page, contents []section) error {
	var broken []error
	for _, source := range slices.Sorted(maps.Keys(pages)) {
		p := pages[source]
		assets, errs := p.relink(repository, pages)
		broken = append(broken, errs...)
		for _, asset := range assets {
			if err := copyFile(filepath.Join(repository, filepath.FromSlash(asset)), filepath.Join(dir, path.Base(asset))); err != nil {
				return err
			}
		}
		if err := writePage(dir, version, p, contents); err != nil {
			return err
		}
	}
	return errors.Join(broken...)
}

func writePage(dir, version string, p *page, contents []section) error {
	body, err := p.html()
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, p.name))
	if err != nil {
		return err
	}
	err = pageTemplate.Execute(file, map[string]any{
		"Title": p.title, "Name": p.name, "Version": version, "Contents": contents,
		// The text is the project's own, and goldmark has left out raw HTML.
		"Body": template.HTML(body),
	})
	return errors.Join(err, file.Close())
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// writeVersions writes the list of the versions that the folder has, newest first, and a
// page that leads to the newest release.
func writeVersions(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var versions []string
	for _, e := range entries {
		if e.IsDir() && versionName.MatchString(e.Name()) {
			versions = append(versions, e.Name())
		}
	}
	slices.SortFunc(versions, func(a, b string) int {
		return cmp.Or(semver.Compare(b, a), cmp.Compare(a, b)) // names that are not versions, such as main, are last
	})
	list, err := json.Marshal(versions)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "versions.json"), list, 0o644); err != nil {
		return err
	}
	redirect := fmt.Sprintf("<!doctype html><meta charset=utf-8><meta http-equiv=refresh content='0; url=%[1]s/'><a href='%[1]s/'>ctrlplane</a>\n", versions[0])
	return os.WriteFile(filepath.Join(folder, "index.html"), []byte(redirect), 0o644)
}
