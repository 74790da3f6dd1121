package ctrlplane

import "github.com/ctrlplane/ctrlplane/internal/usage"

// UsageError is an error in a Server's fields: starting again with the same
// ones cannot help.
type UsageError = usage.Error
