// Functions without a body, in scope.go, need this file to be here.
