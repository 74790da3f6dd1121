package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/internal/childproc"
	"github.com/ctrlplane/ctrlplane/ui"
)

func newChildCommand(t *target) *cobra.Command {
	u := &upCommand{target: t}
	u.server.Private = true
	cmd := &cobra.Command{
		Use:   childproc.Verb,
		Short: "Start a control plane for the program that starts it, such as a test",
		Long: `Start a control plane for the program that starts it, such as a test in any language. It is
ephemeral unless --name or --data-dir is given. When it is ready, one line of JSON is written to
stdout: protocol, version, kubernetes, pid, url, dataDir, kubeconfig, caFile, certFile and keyFile.
Other verbs find it with --data-dir and that folder; docs/http.md has what it answers over HTTP. It
stops at the end of stdin, and so also if the program crashes: stdin is a pipe that the program
keeps open.`,
		Example: `  sleep 60 | ctrlplane child`,
		Args:    rejectArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !t.named() && !cmd.Flags().Changed("ephemeral") {
				u.ephemeral = true
			}
			return u.serveParent(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	u.addFlags(cmd)
	cmd.Flags().StringVar(&u.server.Kubernetes, "kubernetes", "", kubernetesFlagHelp)
	cmd.Flags().BoolVar(&u.server.Observe.ExcludeStart, "exclude-start", false, "tell conflicts and failed syncs of the start apart from later ones")
	return cmd
}

// serveParent serves until the end of in.
func (u *upCommand) serveParent(ctx context.Context, in io.Reader, out io.Writer) error {
	if err := u.prepareServer(ctx); err != nil {
		return err
	}
	// If the parent has exited, a write to stderr would end this process before it has
	// cleaned up.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // not joined: a read from stdin cannot be interrupted
		_, _ = io.Copy(io.Discard, in) // any error means the end, too
		stop(errors.New("stdin has ended; keep it open for as long as the control plane is needed"))
	}()
	quiet := ui.NewProgress(io.Discard, ui.Mode{})
	defer quiet.Close()
	return u.serve(ctx, &session{up: u, view: viewNone, progress: quiet, warner: quiet, ready: func() error {
		s := &u.server
		pki := filepath.Join(s.DataDir(), "pki")
		err := json.NewEncoder(out).Encode(childproc.ReadyMessage{
			Protocol:   childproc.ProtocolVersion,
			Version:    ctrlplane.Version(),
			Kubernetes: s.DescribeKubernetes(),
			PID:        os.Getpid(),
			URL:        s.URL(),
			DataDir:    s.DataDir(),
			Kubeconfig: filepath.Join(s.DataDir(), ctrlplane.KubeconfigFile),
			CAFile:     filepath.Join(pki, "ca.crt"),
			CertFile:   filepath.Join(pki, "admin.crt"),
			KeyFile:    filepath.Join(pki, "admin.key"),
		})
		if err != nil {
			return fmt.Errorf("cannot report that the control plane is ready: %w", err)
		}
		return nil
	}})
}
