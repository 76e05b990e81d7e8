package cli

import (
	"errors"
	"io"
	"syscall"
)

// isClosedPipe says that the reader of a stream has gone away.
func isClosedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
