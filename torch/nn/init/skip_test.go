package nninit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
	nninit "github.com/libtorch-go/libtorch/torch/nn/init"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

func TestSkipDrawsNothing(t *testing.T) {
	torchtest.NoLeaks(t)
	torch.Scope(func() {
		w := torch.Full([]int{3, 4}, 7.0)
		torch.ManualSeed(1)
		first := torch.Rand(1)
		torch.ManualSeed(1)
		nninit.Skip(func() {
			nninit.Skip(func() { nninit.XavierNormal(w) })
			nninit.TruncNormal(w, 0, 1, -2, 2)
			nninit.Orthogonal(w)
			nninit.Sparse(w, 0.5)
			nninit.KaimingUniform(w)
			other := make(chan bool)
			go func() {
				defer close(other)
				v := torch.Full([]int{3, 4}, 7.0)
				defer v.Close()
				nninit.Uniform(v, 0, 1, nninit.Options{Generator: torch.NewGenerator(torch.CPU)})
				other <- v.Equal(w)
			}()
			require.False(t, <-other, "another goroutine draws")
			<-other
		})
		torchtest.Equal(t, w, torch.Full([]int{3, 4}, 7.0))
		torchtest.Equal(t, torch.Rand(1), first)
		require.Panics(t, func() { nninit.Skip(func() { panic("x") }) })
		require.False(t, nninit.Normal(w, 0, 1).Equal(torch.Full([]int{3, 4}, 7.0)), "after a panic it is over")
	})
}
