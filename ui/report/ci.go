package report

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// publishToCI publishes the summary where the CI service shows it. log is the job's
// log; getenv is os.Getenv.
func (s *runSummary) publishToCI(log io.Writer, getenv func(string) string) error {
	var errs []error
	if getenv("GITHUB_ACTIONS") == "true" {
		errs = append(errs, s.writeAnnotations(log))
	}
	if path := getenv("GITHUB_STEP_SUMMARY"); path != "" {
		errs = append(errs, s.appendToFile(path))
	}
	if getenv("GITLAB_CI") == "true" {
		errs = append(errs, s.writeSection(log, time.Now().Unix(), artifactURL(s.folder, getenv("CI_PROJECT_DIR"), getenv("CI_JOB_URL"))))
	}
	return errors.Join(errs...)
}

func (s *runSummary) appendToFile(path string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", err)
	}
	info, err := file.Stat()
	if err == nil {
		err = s.writeMarkdown(file, int(info.Size()))
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("GITHUB_STEP_SUMMARY: %w", err)
	}
	return nil
}

// artifactURL returns where GitLab shows the page if the job keeps the folder as an
// artifact. It is empty if the folder is outside the project.
func artifactURL(folder, project, job string) string {
	rel, err := filepath.Rel(project, folder)
	if project == "" || job == "" || err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return ""
	}
	parts := strings.Split(filepath.ToSlash(filepath.Join(rel, PageFile)), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return job + "/artifacts/file/" + strings.Join(parts, "/")
}
