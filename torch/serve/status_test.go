package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

func TestStatus(t *testing.T) {
	require.Equal(t, http.StatusOK, Status(nil))
	for want, errs := range map[int][]error{
		400: {&InputError{errors.New("no image")}, ErrSequence, &torch.Error{Kind: torch.KindIndex}},
		413: {&InputError{&http.MaxBytesError{Limit: 1}}},
		429: {ErrBusy, torch.ErrLanesBusy},
		499: {context.Canceled},
		500: {errors.New("a bug"), &torch.Error{Kind: torch.KindGeneric}},
		503: {ErrClosed},
		504: {context.DeadlineExceeded},
		507: {&torch.Error{Kind: torch.KindOutOfMemory}},
	} {
		for _, err := range errs {
			require.Equal(t, want, Status(fmt.Errorf("wrapped: %w", err)), err)
		}
	}
}
