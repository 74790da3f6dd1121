package inprocess

// SurviveInterruption is surviveInterruption, for tests.
var SurviveInterruption = surviveInterruption

// SurviveFailedStart makes the process survive the hooks of an earlier start, until the next start.
func SurviveFailedStart() { lastStart.Store(&hasFailed) }
