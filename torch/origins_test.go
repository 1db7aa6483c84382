//go:build torchdebug

package torch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestOpenTensorsKnowWhereTheyWereMade(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.GC()
	require.Empty(t, torch.LiveOrigins())
	x := torch.Ones(2)
	origins := torch.LiveOrigins()
	require.Len(t, origins, 1)
	assert.Contains(t, origins[0], "TestOpenTensorsKnowWhereTheyWereMade")
	assert.Contains(t, origins[0], "origins_test.go:")
	torch.Scope(func() {
		x.Add(x)
		assert.Len(t, torch.LiveOrigins(), 2)
	})
	assert.Len(t, torch.LiveOrigins(), 1)
	x.Close()
	assert.Empty(t, torch.LiveOrigins())

	for range 100 {
		torch.Ones(3)
	}
	torch.GC()
	assert.Empty(t, strings.Join(torch.LiveOrigins(), "\n"), "what the collector found is forgotten")
}

func TestClosedTensorsKnowTheirLife(t *testing.T) {
	torchtest.NoLeaks(t)
	var x torch.Tensor
	torch.Scope(func() { x = torch.Ones(2) })
	y := torch.Ones(2)
	y.Close()
	for _, closed := range []torch.Tensor{x, y} {
		err := torch.Try(func() { closed.Exp() })
		require.ErrorIs(t, err, torch.ErrClosed)
		assert.Regexp(t, `it was made at .*origins_test\.go:\d+ .* and closed at .*origins_test\.go:\d+ `, err.Error())
	}
}
