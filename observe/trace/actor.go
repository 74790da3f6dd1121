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
// is a controller's name or alias, a client's name, or the program of one client.
func FindActor(now observe.Snapshot, word string) (string, error) {
	var known []string
	for _, c := range now.Controllers {
		names := append([]string{c.Name}, c.Aliases...)
		if slices.Contains(names, word) {
			return c.Name, nil
		}
		known = append(known, names...)
	}
	var clients, of []string // of: those of the program
	for _, c := range now.Clients {
		program := observe.ProgramOf(c.Name)
		if c.Name == word {
			return c.Name, nil
		}
		if program == word {
			of = append(of, c.Name)
		}
		clients, known = append(clients, c.Name), append(known, c.Name, program)
	}
	switch len(of) {
	case 1:
		return of[0], nil
	case 0:
		return "", unknownActorError(word, known, clients)
	}
	return "", usage.Errorf("%q is the program of %d clients: name one of %s", word, len(of), words.Quote(of))
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
