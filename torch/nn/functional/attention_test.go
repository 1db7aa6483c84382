package functional_test

import (
	"testing"

	"github.com/libtorch-go/libtorch/torch"
	F "github.com/libtorch-go/libtorch/torch/nn/functional"
)

type (
	mha  = F.MultiHeadAttentionOptions
	sdpa = F.ScaledDotProductAttentionOptions
)

// with makes options of the inputs' weights, then change alters them.
func with(i tensors, change func(o *mha)) mha {
	o := mha{InProjWeight: i["in_weight"], InProjBias: i["in_bias"], OutProjWeight: i["out_weight"], OutProjBias: i["out_bias"]}
	if change != nil {
		change(&o)
	}
	return o
}

// cross is attention of queries to other keys and values.
func cross(i tensors, change func(o *mha)) torch.Tensor {
	return pair(F.MultiHeadAttentionForward(i["query"], i["key"], i["value"], 6, 2, with(i, change)))
}

// self is attention of a sequence to itself.
func self(i tensors, change func(o *mha)) torch.Tensor {
	return pair(F.MultiHeadAttentionForward(i["key"], i["key"], i["key"], 6, 2, with(i, change)))
}

// memory is attention to a sequence that is keys and values at once.
func memory(i tensors, change func(o *mha)) torch.Tensor {
	return pair(F.MultiHeadAttentionForward(i["query"], i["key"], i["key"], 6, 2, with(i, change)))
}

// separate is attention to values of another size.
func separate(i tensors, change func(o *mha)) torch.Tensor {
	return pair(F.MultiHeadAttentionForward(i["query"], i["key"], i["value3"], 6, 2, with(i, func(o *mha) {
		o.InProjWeight, o.UseSeparateProjWeight = none, true
		o.QProjWeight, o.KProjWeight, o.VProjWeight = i["q_weight"], i["k_weight"], i["v_weight"]
		if change != nil {
			change(o)
		}
	})))
}

// attentions are testdata/attention.py's, in its order.
var attentions = []function{
	{"sdpa", func(i tensors) torch.Tensor {
		return F.ScaledDotProductAttention(i["query"].Transpose(0, 1), i["key"].Transpose(0, 1), i["value"].Transpose(0, 1))
	}},
	{"sdpa causal", func(i tensors) torch.Tensor {
		return F.ScaledDotProductAttention(i["query"].Transpose(0, 1), i["key"].Transpose(0, 1), i["value"].Transpose(0, 1),
			sdpa{IsCausal: true, Scale: new(0.3)})
	}},
	{"sdpa mask", func(i tensors) torch.Tensor {
		return F.ScaledDotProductAttention(i["query"].Transpose(0, 1), i["key"].Transpose(0, 1), i["value3"].Transpose(0, 1),
			sdpa{AttnMask: i["mask"]})
	}},
	{"sdpa dropout", func(i tensors) torch.Tensor {
		return F.ScaledDotProductAttention(i["query"], i["key"].Narrow(0, 0, 4), i["value"].Narrow(0, 0, 4), sdpa{DropoutP: 0.3})
	}},
	{"mha", func(i tensors) torch.Tensor { return cross(i, nil) }},
	{"mha self", func(i tensors) torch.Tensor { return self(i, nil) }},
	{"mha memory", func(i tensors) torch.Tensor { return memory(i, nil) }},
	{"mha self without bias", func(i tensors) torch.Tensor {
		return self(i, func(o *mha) { o.InProjBias, o.OutProjBias = none, none })
	}},
	{"mha memory without bias", func(i tensors) torch.Tensor {
		return memory(i, func(o *mha) { o.InProjBias, o.NoWeights = none, true })
	}},
	{"mha heads", func(i tensors) torch.Tensor {
		return pair(F.MultiHeadAttentionForward(i["query"], i["key"], i["value"], 6, 3, with(i, func(o *mha) { o.WeightsPerHead = true })))
	}},
	{"mha without bias", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.InProjBias, o.OutProjBias = none, none })
	}},
	{"mha fast", func(i tensors) torch.Tensor { return cross(i, func(o *mha) { o.NoWeights = true }) }},
	{"mha fast mask", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.NoWeights, o.AttnMask = true, i["scores"] })
	}},
	{"mha fast mask of heads", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.NoWeights, o.AttnMask = true, i["scores3"] })
	}},
	{"mha fast causal", func(i tensors) torch.Tensor {
		return self(i, func(o *mha) { o.NoWeights, o.IsCausal, o.AttnMask = true, true, i["scores"] })
	}},
	{"mha fast causal padded", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) {
			o.NoWeights, o.IsCausal, o.AttnMask, o.KeyPaddingMask = true, true, i["scores"], i["padding"]
		})
	}},
	{"mha mask", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.AttnMask = i["mask"].LogicalAnd(i["mask"].Flip(0)) })
	}},
	{"mha mask of heads", func(i tensors) torch.Tensor { return cross(i, func(o *mha) { o.AttnMask = i["scores3"] }) }},
	{"mha causal", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.AttnMask, o.IsCausal = i["scores"], true })
	}},
	{"mha padding", func(i tensors) torch.Tensor { return cross(i, func(o *mha) { o.KeyPaddingMask = i["padding"] }) }},
	{"mha padding scores", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.KeyPaddingMask, o.AttnMask = i["key_scores"], i["scores"] })
	}},
	{"mha bias", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) {
			o.BiasK, o.BiasV, o.AttnMask, o.KeyPaddingMask = i["bias_k"], i["bias_v"], i["scores"], i["padding"]
		})
	}},
	{"mha zeros", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) {
			o.AddZeroAttn, o.NoWeights, o.AttnMask, o.KeyPaddingMask = true, true, i["scores"], i["padding"]
		})
	}},
	{"mha separate", func(i tensors) torch.Tensor { return separate(i, nil) }},
	{"mha separate without bias", func(i tensors) torch.Tensor {
		return separate(i, func(o *mha) { o.InProjBias = none })
	}},
	{"mha static", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.StaticK, o.StaticV = i["static_k"], i["static_v"] })
	}},
	{"mha single", func(i tensors) torch.Tensor {
		return pair(F.MultiHeadAttentionForward(i["query"].Select(1, 0), i["key"].Select(1, 0), i["value"].Select(1, 0), 6, 2,
			with(i, func(o *mha) {
				o.AttnMask, o.KeyPaddingMask = i["scores3"].Narrow(0, 0, 2), i["padding"].Select(0, 0)
			})))
	}},
	{"mha single fast", func(i tensors) torch.Tensor {
		return pair(F.MultiHeadAttentionForward(i["key"].Select(1, 0), i["key"].Select(1, 0), i["key"].Select(1, 0), 6, 2,
			with(i, func(o *mha) { o.NoWeights = true })))
	}},
	{"mha dropout", func(i tensors) torch.Tensor { return cross(i, func(o *mha) { o.DropoutP = 0.4 }) }},
	{"mha fast dropout", func(i tensors) torch.Tensor {
		return cross(i, func(o *mha) { o.DropoutP, o.NoWeights = 0.4, true })
	}},
	{"mha evaluation", func(i tensors) torch.Tensor { return cross(i, nil) }},
}

func TestAttention(t *testing.T) { equalsPython(t, "testdata/attention.py", attentions) }
