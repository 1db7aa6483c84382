package leaks

import (
	"context"
	"errors"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/dist"
)

var distCases = cases{
	"stores": func() {
		ctx := context.Background()
		s := must(dist.NewHashStore())
		part := must(dist.NewPrefixStore("part", s))
		check(part.Set("a", []byte("b")))
		_, _ = must(part.Get(ctx, "a")), must(part.Add("n", 1))
		_, _, _ = must(part.CompareSet("c", nil, []byte("d"))), must(part.Check("a")), must(part.NumKeys())
		_ = must(part.DeleteKey("a"))
		check(part.Wait(ctx, "c"))
		_ = part.Port()
		part.Close()
		s.Close()
		var failed *dist.Error
		if err := s.Set("a", nil); !errors.As(err, &failed) || !failed.Is(torch.ErrDist) || failed.Error() == "" || failed.Unwrap() == nil {
			panic(err)
		}
	},
	"no environment": func() { _, err := dist.Env(); refuse(err) },
}
