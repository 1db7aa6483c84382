package dist

import (
	"errors"
	"fmt"
	"strings"

	"github.com/libtorch-go/libtorch/torch"
)

// ErrTimeout is what errors.Is finds in the error of an operation that the other ranks did not join in time.
var ErrTimeout = errors.New("the other ranks did not come in time")

// Error is what an operation with other ranks failed with. errors.Is finds [torch.ErrDist] in it, [ErrTimeout]
// if that was the reason, and the context's error if that ended first.
type Error struct {
	Op   string // PyTorch's name of the operation: "all_reduce"
	Rank int    // of this process in the group, -1 if it is not a member, or the group does not exist yet
	Size int    // of the group
	Peer int    // the other rank, -1 where it is not known, or there are several
	Err  error  // what libtorch says, or the context
}

// Error names the operation, the rank, the peer if one is known, and the reason: whether the others were late in the
// words of [ErrTimeout], since libtorch has several for it.
func (e *Error) Error() string {
	text := "dist: " + e.Op
	if e.Rank >= 0 {
		text += fmt.Sprintf(" on rank %d of %d", e.Rank, e.Size)
	}
	if e.Peer >= 0 {
		text += fmt.Sprintf(" with rank %d", e.Peer)
	}
	if e.Is(ErrTimeout) && !errors.Is(e.Err, ErrTimeout) {
		text += ": " + ErrTimeout.Error()
	}
	return text + ": " + reason(e.Err)
}

// reason is what libtorch said, without the names of our own entries.
func reason(err error) string {
	var inner *torch.Error
	if errors.As(err, &inner) && inner.Kind != torch.KindLibrary {
		return inner.Msg
	}
	return err.Error()
}

// Unwrap is the reason.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the sentinels.
func (e *Error) Is(target error) bool {
	return target == torch.ErrDist || target == ErrTimeout && timedOut(e.Err)
}

func timedOut(err error) bool {
	var inner *torch.Error
	return errors.Is(err, ErrTimeout) ||
		errors.As(err, &inner) && (strings.Contains(strings.ToLower(inner.Msg), "timed out") || strings.Contains(inner.Msg, "timeout"))
}
