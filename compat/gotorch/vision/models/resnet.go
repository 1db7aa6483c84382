package models

import (
	"fmt"
	"reflect"

	torch "github.com/wangkuiyi/gotorch"
	"github.com/wangkuiyi/gotorch/nn"
	F "github.com/wangkuiyi/gotorch/nn/functional"
)

func conv(in, out, kernel, stride, padding, dilation, groups int64) *nn.Conv2dModule {
	return nn.Conv2d(in, out, kernel, stride, padding, dilation, groups, false, "zeros")
}

func norm(n int64) *nn.BatchNorm2dModule { return nn.BatchNorm2d(n, 1e-5, 0.1, true, true) }

// chain passes x through functions and frees what lies between them: autograd has what it needs of that.
func chain(x torch.Tensor, functions ...func(torch.Tensor) torch.Tensor) torch.Tensor {
	out := x
	for _, fn := range functions {
		next := fn(out)
		if out.T != x.T && out.T != next.T {
			torch.Unwrap(out).Close()
		}
		out = next
	}
	return out
}

func relu(x torch.Tensor) torch.Tensor { return F.Relu(x, true) }

// merge adds what went past a block to what came out of it.
func merge(out, x torch.Tensor, downsample *nn.SequentialModule) torch.Tensor {
	if downsample == nil {
		return relu(out.AddI(x, 1))
	}
	x = downsample.Forward(x).(torch.Tensor)
	defer torch.Unwrap(x).Close()
	return relu(out.AddI(x, 1))
}

// BasicBlockModule is the block of ResNet-18 and -34.
type BasicBlockModule struct {
	nn.Module
	C1, C2     *nn.Conv2dModule
	BN1, BN2   *nn.BatchNorm2dModule
	Downsample *nn.SequentialModule
}

// BasicBlock makes a BasicBlockModule. groups, baseWidth and dilation are for other blocks.
func BasicBlock(inplanes, planes, stride int64, downsample *nn.SequentialModule, groups, baseWidth, dilation int64) *BasicBlockModule {
	b := &BasicBlockModule{
		C1: conv(inplanes, planes, 3, stride, 1, 1, 1), BN1: norm(planes),
		C2: conv(planes, planes, 3, 1, 1, 1, 1), BN2: norm(planes),
		Downsample: downsample,
	}
	b.Init(b)
	return b
}

// Forward computes the block.
func (b *BasicBlockModule) Forward(x torch.Tensor) torch.Tensor {
	return merge(chain(x, b.C1.Forward, b.BN1.Forward, relu, b.C2.Forward, b.BN2.Forward), x, b.Downsample)
}

// BottleneckModule is the block of ResNet-50 and larger ones.
type BottleneckModule struct {
	nn.Module
	C1, C2, C3    *nn.Conv2dModule
	BN1, BN2, BN3 *nn.BatchNorm2dModule
	Downsample    *nn.SequentialModule
}

// expansion is how many channels come out of a BottleneckModule for each of planes.
const expansion = 4

// Bottleneck makes a BottleneckModule.
func Bottleneck(inplanes, planes, stride int64, downsample *nn.SequentialModule, groups, baseWidth, dilation int64) *BottleneckModule {
	width := planes * baseWidth / 64 * groups
	b := &BottleneckModule{
		C1: conv(inplanes, width, 1, 1, 0, 1, 1), BN1: norm(width),
		C2: conv(width, width, 3, stride, dilation, dilation, groups), BN2: norm(width),
		C3: conv(width, planes*expansion, 1, 1, 0, 1, 1), BN3: norm(planes * expansion),
		Downsample: downsample,
	}
	b.Init(b)
	return b
}

// Forward computes the block.
func (b *BottleneckModule) Forward(x torch.Tensor) torch.Tensor {
	return merge(chain(x, b.C1.Forward, b.BN1.Forward, relu, b.C2.Forward, b.BN2.Forward, relu, b.C3.Forward, b.BN3.Forward),
		x, b.Downsample)
}

// ResnetModule is a ResNet.
type ResnetModule struct {
	nn.Module
	C1                                    *nn.Conv2dModule
	BN1                                   *nn.BatchNorm2dModule
	L1, L2, L3, L4                        *nn.SequentialModule
	FC                                    *nn.LinearModule
	Block                                 reflect.Type
	Inplanes, Groups, BaseWidth, Dilation int64
}

// grows is how many channels come out of a block for each of planes.
func grows(block reflect.Type) int64 {
	switch block {
	case reflect.TypeFor[BasicBlockModule]():
		return 1
	case reflect.TypeFor[BottleneckModule]():
		return expansion
	}
	panic(fmt.Sprintf("Resnet: %v is no block: expected BasicBlockModule or BottleneckModule", block))
}

// Resnet makes a ResnetModule of blocks of a type, so many in each of the four layers.
func Resnet(block reflect.Type, layers []int64, numClasses int64, zeroInitResidual bool, groups, widthPerGroup int64) *ResnetModule {
	const inplanes = 64
	r := &ResnetModule{
		C1: conv(3, inplanes, 7, 2, 3, 1, 1), BN1: norm(inplanes), FC: nn.Linear(512*grows(block), numClasses, true),
		Inplanes: inplanes, Groups: groups, BaseWidth: widthPerGroup, Dilation: 1,
	}
	r.L1 = r.layer(block, 64, layers[0], 1)
	r.L2 = r.layer(block, 128, layers[1], 2)
	r.L3 = r.layer(block, 256, layers[2], 2)
	r.L4 = r.layer(block, 512, layers[3], 2)
	r.Init(r)
	return r
}

func (r *ResnetModule) layer(block reflect.Type, planes, blocks, stride int64) *nn.SequentialModule {
	out := planes * grows(block)
	var downsample *nn.SequentialModule
	if stride != 1 || r.Inplanes != out {
		downsample = nn.Sequential(conv(r.Inplanes, out, 1, stride, 0, 1, 1), norm(out))
	}
	var list []nn.IModule
	for range blocks {
		if grows(block) == 1 {
			list = append(list, BasicBlock(r.Inplanes, planes, stride, downsample, r.Groups, r.BaseWidth, r.Dilation))
		} else {
			list = append(list, Bottleneck(r.Inplanes, planes, stride, downsample, r.Groups, r.BaseWidth, r.Dilation))
		}
		r.Inplanes, stride, downsample = out, 1, nil
	}
	return nn.Sequential(list...)
}

// pool is the pooling behind the first convolution.
func pool(x torch.Tensor) torch.Tensor {
	return F.MaxPool2d(x, []int64{3, 3}, []int64{2, 2}, []int64{1, 1}, []int64{1, 1}, false)
}

// average is the mean of each channel.
func average(x torch.Tensor) torch.Tensor { return F.AdaptiveAvgPool2d(x, []int64{1, 1}) }

func flatten(x torch.Tensor) torch.Tensor { return torch.Flatten(x, 1, -1) }

// Forward computes the scores of the classes.
func (r *ResnetModule) Forward(x torch.Tensor) torch.Tensor {
	functions := []func(torch.Tensor) torch.Tensor{r.C1.Forward, r.BN1.Forward, relu, pool}
	for _, layer := range []*nn.SequentialModule{r.L1, r.L2, r.L3, r.L4} {
		functions = append(functions, func(x torch.Tensor) torch.Tensor { return layer.Forward(x).(torch.Tensor) })
	}
	return chain(x, append(functions, average, flatten, r.FC.Forward)...)
}

// Resnet18 makes a ResNet-18 for the 1,000 classes of ImageNet.
func Resnet18() *ResnetModule {
	return Resnet(reflect.TypeFor[BasicBlockModule](), []int64{2, 2, 2, 2}, 1000, false, 1, 64)
}

// Resnet50 makes a ResNet-50 for the 1,000 classes of ImageNet.
func Resnet50() *ResnetModule {
	return Resnet(reflect.TypeFor[BottleneckModule](), []int64{3, 4, 6, 3}, 1000, false, 1, 64)
}
