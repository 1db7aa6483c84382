package torch_test

import (
	"math"

	"github.com/libtorch-go/libtorch/torch"
	"github.com/libtorch-go/libtorch/torch/aten"
)

var badLayers = []badInput{
	{"conv2d of other channels", func() { aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 4, 3, 3)) }, broken,
		"to have 4 channels, but got 3 channels"},
	{"conv2d of a signal", func() { aten.Conv2d(torch.Ones(1, 3, 5), torch.Ones(4, 3, 3, 3)) }, broken,
		"expected input[1, 1, 3, 5] to have 3 channels"},
	{"conv2d of an image below the kernel", func() { aten.Conv2d(torch.Ones(1, 3, 2, 2), torch.Ones(4, 3, 3, 3)) }, broken,
		"Kernel size can't be greater than actual input size"},
	{"conv2d with stride 0", func() {
		aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dOptions{Stride: []int{0}})
	}, broken, "non-positive stride is not supported"},
	{"conv2d with three strides", func() {
		aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dOptions{Stride: []int{1, 1, 1}})
	}, broken, "list of 2 values"},
	{"conv2d with dilation 0", func() {
		aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dOptions{Dilation: []int{0}})
	}, broken, "dilation should be greater than zero"},
	{"conv2d with negative padding", func() {
		aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dOptions{Padding: []int{-1}})
	}, broken, "negative padding is not supported"},
	{"conv2d with padding past all numbers", func() {
		aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dOptions{Padding: []int{1 << 62}})
	}, broken, "expected padding to be at most"},
	{"conv2d in no groups", func() {
		aten.Conv2d(torch.Ones(1, 4, 5, 5), torch.Ones(4, 4, 3, 3), aten.Conv2dOptions{Groups: new(0)})
	}, broken, "non-positive groups is not supported"},
	{"conv2d with another bias", func() {
		aten.Conv2d(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dOptions{Bias: torch.Ones(3)})
	}, broken, "expected bias to be 1-dimensional with 4 elements"},
	{"conv2d of another dtype", func() { aten.Conv2d(torch.Ones(1, 3, 5, 5), of(torch.Float64, 4, 3, 3, 3)) }, broken,
		"expected scalar type Float but found Double"},
	{"conv2d with padding of that name", func() {
		aten.Conv2dPadding(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dPaddingOptions{Padding: "full"})
	}, broken, "Invalid padding string: 'full'"},
	{"conv2d that keeps the size in strides", func() {
		aten.Conv2dPadding(torch.Ones(1, 3, 5, 5), torch.Ones(4, 3, 3, 3), aten.Conv2dPaddingOptions{Padding: "same", Stride: []int{2}})
	}, broken, "not supported for strided convolutions"},
	{"transposed convolution with too much output padding", func() {
		aten.ConvTranspose2d(torch.Ones(1, 4, 5, 5), torch.Ones(4, 4, 3, 3), aten.ConvTranspose2dOptions{OutputPadding: []int{5}})
	}, broken, "output padding must be smaller than either stride or dilation"},
	{"max pooling with stride 0", func() { aten.MaxPool2d(torch.Ones(1, 4, 4), []int{2}, aten.MaxPool2dOptions{Stride: []int{0}}) },
		broken, "stride should not be zero"},
	{"max pooling padded too far", func() { aten.MaxPool2d(torch.Ones(1, 4, 4), []int{2}, aten.MaxPool2dOptions{Padding: []int{2}}) },
		broken, "pad should be at most half of effective kernel size"},
	{"max pooling without a kernel", func() { aten.MaxPool2d(torch.Ones(1, 4, 4), nil) }, broken,
		"kernel_size must either be a single int, or a tuple of two ints"},
	{"max pooling to nothing", func() { aten.MaxPool2d(torch.Ones(1, 1, 1), []int{2}) }, broken, "Output size is too small"},
	{"average pooling by 0", func() {
		aten.AvgPool2d(torch.Ones(1, 4, 4), []int{2}, aten.AvgPool2dOptions{DivisorOverride: new(0)})
	}, broken, "divisor must be not zero"},
	{"adaptive pooling to three sizes", func() { aten.AdaptiveAvgPool2d(torch.Ones(1, 4, 4), 1, 1, 1) }, broken, "output_size must be 2"},
	{"adaptive pooling to a negative size", func() { aten.AdaptiveAvgPool2d(torch.Ones(1, 4, 4), -1, 1) }, broken,
		"must be greater than or equal to 0"},
	{"unpooling to places outside", func() { aten.MaxUnpool2d(torch.Ones(1, 1, 1), long(9).Reshape(1, 1, 1), 2, 2) }, broken,
		"Found an invalid max index: 9"},
	{"batch norm with other statistics", func() {
		aten.BatchNorm(torch.Ones(2, 4, 3), torch.Tensor{}, torch.Tensor{}, torch.Ones(1), torch.Ones(1), true, 0.1, 1e-5)
	}, broken, "running_mean should contain 4 elements not 1"},
	{"batch norm without statistics", func() {
		aten.BatchNorm(torch.Ones(2, 4, 3), torch.Tensor{}, torch.Tensor{}, torch.Tensor{}, torch.Tensor{}, false, 0.1, 1e-5)
	}, broken, "running_mean must be defined in evaluation mode"},
	{"layer norm over another size", func() { aten.LayerNorm(torch.Ones(2, 3), []int{4}) }, broken, "expected input with shape [*, 4]"},
	{"layer norm over nothing", func() { aten.LayerNorm(torch.Ones(2, 3), nil) }, broken, "at least one element"},
	{"group norm in groups that do not divide", func() { aten.GroupNorm(torch.Ones(2, 4, 3), 3) }, broken, "divisible by num_groups"},
	{"group norm in no groups", func() { aten.GroupNorm(torch.Ones(2, 4, 3), 0) }, broken, "num groups to be greater than 0"},
	{"embedding past the table", func() { aten.Embedding(torch.Ones(4, 3), long(4)) }, outside, "index out of range in self"},
	{"embedding at a negative index", func() { aten.Embedding(torch.Ones(4, 3), long(-1)) }, outside, "index out of range in self"},
	{"embedding at a fraction", func() { aten.Embedding(torch.Ones(4, 3), torch.Ones(2)) }, broken, "scalar types: Long, Int"},
	{"embedding bag past the table", func() { aten.EmbeddingBag(torch.Ones(4, 3), long(0, 4), long(0)) }, broken,
		"not in the valid range [0, 4)"},
	{"embedding bag with offsets past the end", func() { aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1), long(0, 9)) }, broken,
		"can not be greater than input's length"},
	{"embedding bag that begins late", func() { aten.EmbeddingBag(torch.Ones(4, 3), long(0, 1), long(1)) }, broken, "offsets[0] has to be 0"},
	{"cross entropy against no class", func() { aten.CrossEntropyLoss(torch.Ones(2, 3), long(0, 3)) }, outside, "Target 3 is out of bounds"},
	{"cross entropy against a negative class", func() { aten.CrossEntropyLoss(torch.Ones(2, 3), long(0, -1)) }, outside,
		"Target -1 is out of bounds"},
	{"cross entropy against too few classes", func() { aten.CrossEntropyLoss(torch.Ones(2, 3), long(0)) }, misused,
		"Expected input batch_size (2) to match target batch_size (1)"},
	{"cross entropy against fractions for classes", func() { aten.CrossEntropyLoss(torch.Ones(2, 3), torch.Ones(2)) }, broken,
		"expected scalar type Long but found Float"},
	{"cross entropy with too few weights", func() {
		aten.CrossEntropyLoss(torch.Ones(2, 3), long(0, 1), aten.CrossEntropyLossOptions{Weight: torch.Ones(2)})
	}, broken, "weight tensor should be defined either for all 3 classes"},
	{"smoothing of more than 1", func() {
		aten.CrossEntropyLoss(torch.Ones(2, 3), long(0, 1), aten.CrossEntropyLossOptions{LabelSmoothing: 2})
	}, broken, "label_smoothing must be between 0.0 and 1.0"},
	{"negative log-likelihood of a cube", func() { aten.NLLLoss(torch.Ones(2, 3, 4), long(0, 1)) }, broken, "input tensor should be 1D or 2D"},
	{"binary cross entropy of 2", func() { aten.BinaryCrossEntropy(filled(2, 3), torch.Ones(3)) }, broken,
		"all elements of input should be between 0 and 1"},
	{"squared distance of other shapes", func() { aten.MSELoss(torch.Ones(3), torch.Ones(4)) }, broken, "must match"},
	{"CTC loss with too few lengths", func() {
		aten.CTCLoss(torch.RandN(9, 2, 5).LogSoftmax(2), long(1, 2, 3, 4).Reshape(2, 2), []int{9}, []int{2})
	}, broken, "input_lengths must be of size batch_size"},
	{"CTC loss of more time than there is", func() {
		aten.CTCLoss(torch.RandN(9, 2, 5).LogSoftmax(2), long(1, 2, 3, 4).Reshape(2, 2), []int{9, 10}, []int{2, 2})
	}, broken, "Expected input_lengths to have value at most 9"},
	{"CTC loss without a blank", func() {
		aten.CTCLoss(torch.RandN(9, 1, 5).LogSoftmax(2), long(1, 2), []int{9}, []int{2}, aten.CTCLossOptions{Blank: 5})
	}, broken, "blank must be in label range"},
	{"LSTM without its cell", func() {
		aten.LSTM(torch.Ones(2, 1, 3), []torch.Tensor{torch.Ones(1, 1, 3)}, nil, true, 1, 0, false, false, false)
	}, broken, "lstm expects two hidden states"},
	{"LSTM without weights", func() {
		aten.LSTM(torch.Ones(2, 1, 3), []torch.Tensor{torch.Ones(1, 1, 3), torch.Ones(1, 1, 3)}, nil, true, 1, 0, false, false, false)
	}, broken, "incorrect number of RNN parameters: expected 4, got 0"},
	{"GRU cell with other gates", func() { aten.GRUCell(torch.Ones(2, 3), torch.Ones(2, 3), torch.Ones(8, 3), torch.Ones(8, 3)) },
		broken, "weight_ih first dim must be 3 * hidden_size = 9"},
	{"attention over other widths",
		func() { aten.ScaledDotProductAttention(torch.Ones(1, 2, 4), torch.Ones(1, 2, 5), torch.Ones(1, 2, 5)) }, broken,
		"[1, 4] but got: [1, 5]"},
	{"pixel shuffle that does not divide", func() { aten.PixelShuffle(torch.Ones(1, 3, 2, 2), 2) }, broken,
		"divisible by the square of upscale_factor"},
	{"pixel shuffle by 0", func() { aten.PixelShuffle(torch.Ones(1, 4, 2, 2), 0) }, broken, "expects a positive upscale_factor"},
	{"dropout of more than all", func() { aten.Dropout(torch.Ones(3), 1.5, true) }, broken, "between 0 and 1, but got 1.5"},
	{"dropout of NaN", func() { aten.Dropout(torch.Ones(3), math.NaN(), true) }, broken, "between 0 and 1, but got nan"},
	{"padding by an odd list", func() { aten.Pad(torch.Ones(3), []int{1}) }, broken, "must be divisible by 2"},
	{"padding of a mode that is not there", func() { aten.Pad(torch.Ones(1, 3), []int{1, 1}, aten.PadOptions{Mode: "mirror"}) },
		lacking, "Unrecognised padding mode mirror"},
	{"reflection past the other end", func() { aten.Pad(torch.Ones(1, 3), []int{5, 5}, aten.PadOptions{Mode: "reflect"}) }, broken,
		"Padding size should be less than the corresponding input dimension"},
	{"cutting off more than there is", func() { aten.Pad(torch.Ones(3), []int{-2, -2}) }, broken, "length must be non-negative"},
	{"unfold in steps of 0", func() { torch.Ones(4).Unfold(0, 2, 0) }, broken, "step is 0 but must be > 0"},
	{"unfold past the end", func() { torch.Ones(4).Unfold(0, 5, 1) }, broken, "maximum size for tensor at dimension 0 is 4 but size is 5"},
	{"im2col with one size for two", func() { aten.Im2Col(torch.Ones(1, 1, 4, 4), []int{2}, []int{1}, []int{0}, []int{1}) }, broken,
		"expected kernel_size equals to 2"},
	{"col2im that does not add up", func() {
		aten.Col2Im(torch.Ones(1, 4, 4), []int{5, 5}, []int{2, 2}, []int{1, 1}, []int{0, 0}, []int{1, 1})
	}, broken, "expected size of input's dimension 2 to match the calculated number of sliding blocks"},
	{"upsampling to nothing", func() { aten.UpsampleNearest2d(torch.Ones(1, 1, 2, 2), []int{0, 0}) }, broken, "should be greater than 0"},
	{"a grid for other pictures", func() { aten.GridSampler(torch.Ones(2, 1, 2, 2), torch.Ones(1, 1, 1, 2), 0, 0, false) }, broken,
		"expected grid and input to have same batch size"},
}
