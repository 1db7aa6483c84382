package nn

// String describes the module, see [String].
func (m AdaptiveAvgPool1d) String() string { return String(m) }

// String describes the module, see [String].
func (m AdaptiveAvgPool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m AdaptiveAvgPool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m AdaptiveLogSoftmaxWithLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m AdaptiveMaxPool1d) String() string { return String(m) }

// String describes the module, see [String].
func (m AdaptiveMaxPool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m AdaptiveMaxPool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m AlphaDropout) String() string { return String(m) }

// String describes the module, see [String].
func (m AvgPool1d) String() string { return String(m) }

// String describes the module, see [String].
func (m AvgPool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m AvgPool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m BCELoss) String() string { return String(m) }

// String describes the module, see [String].
func (m BCEWithLogitsLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m BatchNorm1d) String() string { return String(m) }

// String describes the module, see [String].
func (m BatchNorm2d) String() string { return String(m) }

// String describes the module, see [String].
func (m BatchNorm3d) String() string { return String(m) }

// String describes the module, see [String].
func (m Bilinear) String() string { return String(m) }

// String describes the module, see [String].
func (m CELU) String() string { return String(m) }

// String describes the module, see [String].
func (m CTCLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m ChannelShuffle) String() string { return String(m) }

// String describes the module, see [String].
func (m CircularPad1d) String() string { return String(m) }

// String describes the module, see [String].
func (m CircularPad2d) String() string { return String(m) }

// String describes the module, see [String].
func (m CircularPad3d) String() string { return String(m) }

// String describes the module, see [String].
func (m ConstantPad1d) String() string { return String(m) }

// String describes the module, see [String].
func (m ConstantPad2d) String() string { return String(m) }

// String describes the module, see [String].
func (m ConstantPad3d) String() string { return String(m) }

// String describes the module, see [String].
func (m Conv1d) String() string { return String(m) }

// String describes the module, see [String].
func (m Conv2d) String() string { return String(m) }

// String describes the module, see [String].
func (m Conv3d) String() string { return String(m) }

// String describes the module, see [String].
func (m ConvTranspose1d) String() string { return String(m) }

// String describes the module, see [String].
func (m ConvTranspose2d) String() string { return String(m) }

// String describes the module, see [String].
func (m ConvTranspose3d) String() string { return String(m) }

// String describes the module, see [String].
func (m CosineEmbeddingLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m CosineSimilarity) String() string { return String(m) }

// String describes the module, see [String].
func (m CrossEntropyLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m Dropout) String() string { return String(m) }

// String describes the module, see [String].
func (m Dropout1d) String() string { return String(m) }

// String describes the module, see [String].
func (m Dropout2d) String() string { return String(m) }

// String describes the module, see [String].
func (m Dropout3d) String() string { return String(m) }

// String describes the module, see [String].
func (m ELU) String() string { return String(m) }

// String describes the module, see [String].
func (m Embedding) String() string { return String(m) }

// String describes the module, see [String].
func (m EmbeddingBag) String() string { return String(m) }

// String describes the module, see [String].
func (m FeatureAlphaDropout) String() string { return String(m) }

// String describes the module, see [String].
func (m Flatten) String() string { return String(m) }

// String describes the module, see [String].
func (m Fold) String() string { return String(m) }

// String describes the module, see [String].
func (m FractionalMaxPool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m FractionalMaxPool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m GELU) String() string { return String(m) }

// String describes the module, see [String].
func (m GLU) String() string { return String(m) }

// String describes the module, see [String].
func (m GRU) String() string { return String(m) }

// String describes the module, see [String].
func (m GRUCell) String() string { return String(m) }

// String describes the module, see [String].
func (m GaussianNLLLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m GroupNorm) String() string { return String(m) }

// String describes the module, see [String].
func (m Hardshrink) String() string { return String(m) }

// String describes the module, see [String].
func (m Hardsigmoid) String() string { return String(m) }

// String describes the module, see [String].
func (m Hardswish) String() string { return String(m) }

// String describes the module, see [String].
func (m Hardtanh) String() string { return String(m) }

// String describes the module, see [String].
func (m HingeEmbeddingLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m HuberLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m Identity) String() string { return String(m) }

// String describes the module, see [String].
func (m InstanceNorm1d) String() string { return String(m) }

// String describes the module, see [String].
func (m InstanceNorm2d) String() string { return String(m) }

// String describes the module, see [String].
func (m InstanceNorm3d) String() string { return String(m) }

// String describes the module, see [String].
func (m KLDivLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m L1Loss) String() string { return String(m) }

// String describes the module, see [String].
func (m LPPool1d) String() string { return String(m) }

// String describes the module, see [String].
func (m LPPool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m LPPool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m LSTM) String() string { return String(m) }

// String describes the module, see [String].
func (m LSTMCell) String() string { return String(m) }

// String describes the module, see [String].
func (m LayerNorm) String() string { return String(m) }

// String describes the module, see [String].
func (m LeakyReLU) String() string { return String(m) }

// String describes the module, see [String].
func (m Linear) String() string { return String(m) }

// String describes the module, see [String].
func (m LocalResponseNorm) String() string { return String(m) }

// String describes the module, see [String].
func (m LogSigmoid) String() string { return String(m) }

// String describes the module, see [String].
func (m LogSoftmax) String() string { return String(m) }

// String describes the module, see [String].
func (m MSELoss) String() string { return String(m) }

// String describes the module, see [String].
func (m MarginRankingLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m MaxPool1d) String() string { return String(m) }

// String describes the module, see [String].
func (m MaxPool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m MaxPool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m MaxUnpool1d) String() string { return String(m) }

// String describes the module, see [String].
func (m MaxUnpool2d) String() string { return String(m) }

// String describes the module, see [String].
func (m MaxUnpool3d) String() string { return String(m) }

// String describes the module, see [String].
func (m Mish) String() string { return String(m) }

// String describes the module, see [String].
func (m MultiLabelMarginLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m MultiLabelSoftMarginLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m MultiMarginLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m MultiheadAttention) String() string { return String(m) }

// String describes the module, see [String].
func (m NLLLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m PReLU) String() string { return String(m) }

// String describes the module, see [String].
func (m PairwiseDistance) String() string { return String(m) }

// String describes the module, see [String].
func (m PixelShuffle) String() string { return String(m) }

// String describes the module, see [String].
func (m PixelUnshuffle) String() string { return String(m) }

// String describes the module, see [String].
func (m PoissonNLLLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m RMSNorm) String() string { return String(m) }

// String describes the module, see [String].
func (m RNN) String() string { return String(m) }

// String describes the module, see [String].
func (m RNNCell) String() string { return String(m) }

// String describes the module, see [String].
func (m RReLU) String() string { return String(m) }

// String describes the module, see [String].
func (m ReLU) String() string { return String(m) }

// String describes the module, see [String].
func (m ReLU6) String() string { return String(m) }

// String describes the module, see [String].
func (m ReflectionPad1d) String() string { return String(m) }

// String describes the module, see [String].
func (m ReflectionPad2d) String() string { return String(m) }

// String describes the module, see [String].
func (m ReflectionPad3d) String() string { return String(m) }

// String describes the module, see [String].
func (m ReplicationPad1d) String() string { return String(m) }

// String describes the module, see [String].
func (m ReplicationPad2d) String() string { return String(m) }

// String describes the module, see [String].
func (m ReplicationPad3d) String() string { return String(m) }

// String describes the module, see [String].
func (m SELU) String() string { return String(m) }

// String describes the module, see [String].
func (m Sequential) String() string { return String(m) }

// String describes the module, see [String].
func (m SiLU) String() string { return String(m) }

// String describes the module, see [String].
func (m Sigmoid) String() string { return String(m) }

// String describes the module, see [String].
func (m SmoothL1Loss) String() string { return String(m) }

// String describes the module, see [String].
func (m SoftMarginLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m Softmax) String() string { return String(m) }

// String describes the module, see [String].
func (m Softmax2d) String() string { return String(m) }

// String describes the module, see [String].
func (m Softmin) String() string { return String(m) }

// String describes the module, see [String].
func (m Softplus) String() string { return String(m) }

// String describes the module, see [String].
func (m Softshrink) String() string { return String(m) }

// String describes the module, see [String].
func (m Softsign) String() string { return String(m) }

// String describes the module, see [String].
func (m Tanh) String() string { return String(m) }

// String describes the module, see [String].
func (m Tanhshrink) String() string { return String(m) }

// String describes the module, see [String].
func (m Threshold) String() string { return String(m) }

// String describes the module, see [String].
func (m Transformer) String() string { return String(m) }

// String describes the module, see [String].
func (m TransformerDecoder) String() string { return String(m) }

// String describes the module, see [String].
func (m TransformerDecoderLayer) String() string { return String(m) }

// String describes the module, see [String].
func (m TransformerEncoder) String() string { return String(m) }

// String describes the module, see [String].
func (m TransformerEncoderLayer) String() string { return String(m) }

// String describes the module, see [String].
func (m TripletMarginLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m TripletMarginWithDistanceLoss) String() string { return String(m) }

// String describes the module, see [String].
func (m Unflatten) String() string { return String(m) }

// String describes the module, see [String].
func (m Unfold) String() string { return String(m) }

// String describes the module, see [String].
func (m Upsample) String() string { return String(m) }

// String describes the module, see [String].
func (m UpsamplingBilinear2d) String() string { return String(m) }

// String describes the module, see [String].
func (m UpsamplingNearest2d) String() string { return String(m) }

// String describes the module, see [String].
func (m ZeroPad1d) String() string { return String(m) }

// String describes the module, see [String].
func (m ZeroPad2d) String() string { return String(m) }

// String describes the module, see [String].
func (m ZeroPad3d) String() string { return String(m) }
