// Command ctrlplane runs a Kubernetes control plane in one process.
//
// A verb has the file of its name; a large one has more, such as run_*.go. What verbs share:
//
//   - main.go (exit codes, errors, warnings), root.go (all verbs, by group), flagvalues.go, manifestflags.go, hints.go
//     (what to do about an error), output.go (-o), completion*.go;
//   - which control plane: target.go (flags), target_selectors.go (the order of what selects it), target_kubeconfig.go,
//     planes.go (data folders), takenname.go, connect.go (its clients); kinds.go (what KIND means); recording.go and
//     trace_source.go (a recording in its place);
//   - starting one: up.go has the flags, wrapper.go those of verbs that run a command, commandenv.go and
//     serviceaccount.go what that command gets; serve.go starts it, session.go shows it, in the way that viewmode.go
//     and web.go choose; detach*.go start it in the background;
//   - intervening: actors.go (controllers or clients), controllers_*.go, clients_*.go;
//   - streams and signals: stdout.go, ownlines.go, lineprefixer.go, endsignals*.go; kubernetesexit.go is for
//     components of Kubernetes that end the process.
package main
