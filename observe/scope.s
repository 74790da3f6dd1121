// The functions without a body in scope.go require that this file exists.
