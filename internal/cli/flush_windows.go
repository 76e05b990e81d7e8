package cli

// flushInput does nothing: a console's type-ahead cannot be told apart here.
func flushInput(any) {}
