package serve

import (
	"context"
	"errors"
	"net/http"

	"github.com/libtorch-go/libtorch/torch"
)

// Status is the status of HTTP for an error of [Server.Do], or of what comes before it: 400 for an [InputError] and for values that
// the model refuses, 413 for a body that is too large, 429 for [ErrBusy], 499 (nginx's) for a client that has gone, 503 for
// [ErrClosed], 504 for a deadline that has passed, 507 where memory was short, 200 for nil and 500 for everything else.
func Status(err error) int {
	const gone = 499
	switch tooLarge := new(http.MaxBytesError); {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, ErrInput), errors.Is(err, ErrSequence),
		errors.Is(err, torch.ErrValue), errors.Is(err, torch.ErrIndex), errors.Is(err, torch.ErrType):
		return http.StatusBadRequest
	case errors.Is(err, ErrBusy), errors.Is(err, torch.ErrLanesBusy):
		return http.StatusTooManyRequests
	case errors.Is(err, ErrClosed), errors.Is(err, torch.ErrLanesClosed):
		return http.StatusServiceUnavailable
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled):
		return gone
	case errors.Is(err, torch.ErrOutOfMemory):
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}
