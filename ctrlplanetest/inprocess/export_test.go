package inprocess

// SurviveInterruption is surviveInterruption, for tests.
var SurviveInterruption = surviveInterruption
