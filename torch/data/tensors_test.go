package data

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/torch"
)

type node struct {
	Value torch.Tensor
	Next  *node
}

type deep struct {
	Batch  Batch
	List   []torch.Tensor
	ByName map[string]torch.Tensor
	Pairs  [2]Sample
	Any    any
	None   any
	Chain  *node
	Names  []string
	hidden int
}

func TestReplaceTensorsReachesAll(t *testing.T) {
	torch.Scope(func() {
		made := 0
		one := func() torch.Tensor { made++; return torch.FromValue(made) }
		d := deep{
			Batch: Batch{Input: one()}, List: []torch.Tensor{one(), one()}, ByName: map[string]torch.Tensor{"a": one(), "b": one()},
			Pairs: [2]Sample{{Input: one()}, {Target: one()}}, Any: Sample{Input: one()}, Chain: &node{one(), &node{Value: one()}},
			Names: []string{"x"}, hidden: 3,
		}
		seen := map[int]bool{}
		replaceTensors(&d, func(t torch.Tensor) torch.Tensor {
			if !t.Defined() {
				return t
			}
			seen[t.Int()] = true
			return t.AddScalar(100)
		})
		require.Len(t, seen, made)
		require.Equal(t, 101, d.Batch.Input.Int())
		require.False(t, d.Batch.Target.Defined())
		require.Equal(t, 103, d.List[1].Int())
		require.Equal(t, 105, d.ByName["b"].Int())
		require.Equal(t, 107, d.Pairs[1].Target.Int())
		require.Equal(t, 108, d.Any.(Sample).Input.Int())
		require.Equal(t, 110, d.Chain.Next.Value.Int())
		require.Equal(t, 3, d.hidden)

		single := one()
		replaceTensors(&single, func(t torch.Tensor) torch.Tensor { return t.AddScalar(100) })
		require.Equal(t, 100+made, single.Int())
	})
}

func TestSurvey(t *testing.T) {
	type inner struct{ t torch.Tensor }
	type outer struct {
		Name string
		List []map[string]*inner
	}
	type embedding struct{ inner }
	type fine struct {
		Name string
		n    []int
	}
	for _, scene := range []struct {
		value  any
		holds  bool
		hidden string
	}{
		{deep{}, true, ""}, {Batch{}, true, ""}, {torch.Tensor{}, true, ""}, {&node{}, true, ""},
		{3, false, ""}, {fine{n: nil}, false, ""}, {[]string{}, false, ""},
		{outer{}, true, "data.inner.t"}, {[]inner{}, true, "data.inner.t"}, {embedding{}, true, "data.embedding.inner"},
	} {
		holds, hidden := survey(reflect.TypeOf(scene.value), map[reflect.Type]bool{})
		require.Equal(t, scene.holds, holds, "%T", scene.value)
		require.Equal(t, scene.hidden, hidden, "%T", scene.value)
	}
}
