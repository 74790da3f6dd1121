package trace

import (
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// FindActor returns the name under which records have what a controller or a client did. word
// is a controller's name or alias, a client's name, or the program of one client; of several, of
// the only one that is connected.
func FindActor(now observe.Snapshot, word string) (string, error) {
	var known []string
	for _, c := range now.Controllers {
		names := append([]string{c.Name}, c.Aliases...)
		if slices.Contains(names, word) {
			return c.Name, nil
		}
		known = append(known, names...)
	}
	found := observe.ClientsNamed(now.Clients, word, func(c observe.Client) string { return c.Name }, func(c observe.Client) bool { return c.Connected })
	switch len(found) {
	case 1:
		return found[0].Name, nil
	case 0:
		for _, c := range now.Clients {
			known = append(known, c.Name, observe.ProgramOf(c.Name))
		}
		return "", unknownActorError(word, known, clientNames(now.Clients))
	}
	return "", usage.Errorf("%q is the program of %d clients: name one of %s", word, len(found), words.Quote(clientNames(found)))
}

func clientNames(list []observe.Client) (names []string) {
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// maxNamedClients is how many clients an error names.
const maxNamedClients = 5

func unknownActorError(word string, known, clients []string) error {
	hint := `"ctrlplane controllers" and "ctrlplane clients" list them`
	if n := len(clients); n > 0 && n <= maxNamedClients {
		hint = fmt.Sprintf(`"ctrlplane controllers" lists controllers, and the clients are %s`, words.Quote(clients))
	}
	return usage.Errorf("unknown controller or client %q: %s", word, suggest.Hint(word, known, hint))
}
