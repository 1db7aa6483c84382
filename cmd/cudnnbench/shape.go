package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/libtorch-go/libtorch/torch/nn"
)

// A shape is everything that the time of a convolution depends on, except for the
// batch.
type shape struct {
	in, out         int
	size, kernel    [2]int
	stride, padding [2]int
	dilation        [2]int
	groups          int
	bias            bool
}

// shapeForm explains what -conv takes.
const shapeForm = "expected input and weight as 64x56x56,128x3x3, and what is not the default of s1,p0,d1,g1 (stride, " +
	"padding, dilation, groups), and bias"

// parseShape reads what String writes: "64x56x56,128x3x3,s2,p1".
func parseShape(text string) (s shape, err error) {
	fail := func(format string, args ...any) (shape, error) {
		return s, fmt.Errorf("%s; %s", fmt.Sprintf(format, args...), shapeForm)
	}
	s.stride, s.dilation, s.groups = [2]int{1, 1}, [2]int{1, 1}, 1
	words := strings.Split(text, ",")
	if len(words) < 2 {
		return fail("there is no weight")
	}
	input, weight := numbers(words[0], 1), numbers(words[1], 1)
	if len(input) != 3 {
		return fail("%q is no input of CHANNELSxHEIGHTxWIDTH", words[0])
	}
	if len(weight) != 3 {
		return fail("%q is no weight of CHANNELSxHEIGHTxWIDTH", words[1])
	}
	s.in, s.size = input[0], [2]int(input[1:])
	s.out, s.kernel = weight[0], [2]int(weight[1:])
	for _, word := range words[2:] {
		if err := s.option(word); err != nil {
			return fail("%v", err)
		}
	}
	if s.in%s.groups != 0 || s.out%s.groups != 0 {
		return fail("%d and %d channels cannot be divided into %d groups", s.in, s.out, s.groups)
	}
	for i, name := range []string{"height", "width"} {
		if reach, room := s.dilation[i]*(s.kernel[i]-1)+1, s.size[i]+2*s.padding[i]; reach > room {
			return fail("a kernel that covers %d does not fit into the padded %s of %d", reach, name, room)
		}
	}
	return s, nil
}

// option reads one of s2, p1x2, d2, g32 and bias.
func (s *shape) option(word string) error {
	if word == "bias" {
		s.bias = true
		return nil
	}
	least := 1
	if strings.HasPrefix(word, "p") {
		least = 0
	}
	at := map[string]*[2]int{"s": &s.stride, "p": &s.padding, "d": &s.dilation}[word[:min(1, len(word))]]
	var list []int
	if word != "" {
		list = numbers(word[1:], least)
	}
	switch {
	case at != nil && len(list) == 1:
		*at = [2]int{list[0], list[0]}
	case at != nil && len(list) == 2:
		*at = [2]int(list)
	case strings.HasPrefix(word, "g") && len(list) == 1:
		s.groups = list[0]
	default:
		return fmt.Errorf("%q is no option", word)
	}
	return nil
}

// numbers reads 64x56x56; it returns nil if that is not a list of numbers of at least
// the given minimum.
func numbers(text string, least int) (list []int) {
	for word := range strings.SplitSeq(text, "x") {
		n, err := strconv.Atoi(word)
		if err != nil || n < least {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// String is the form that -conv takes.
func (s shape) String() string {
	text := fmt.Sprintf("%dx%dx%d,%dx%dx%d", s.in, s.size[0], s.size[1], s.out, s.kernel[0], s.kernel[1])
	for _, option := range []struct {
		letter     string
		value, def [2]int
	}{{"s", s.stride, [2]int{1, 1}}, {"p", s.padding, [2]int{}}, {"d", s.dilation, [2]int{1, 1}}} {
		switch v := option.value; {
		case v == option.def:
		case v[0] == v[1]:
			text += fmt.Sprintf(",%s%d", option.letter, v[0])
		default:
			text += fmt.Sprintf(",%s%dx%d", option.letter, v[0], v[1])
		}
	}
	if s.groups != 1 {
		text += fmt.Sprintf(",g%d", s.groups)
	}
	if s.bias {
		text += ",bias"
	}
	return text
}

// module is the convolution.
func (s shape) module() *nn.Conv2d {
	return nn.NewConv2d(s.in, s.out, s.kernel[:], nn.ConvOptions{
		Stride: s.stride[:], Padding: s.padding[:], Dilation: s.dilation[:], Groups: s.groups, NoBias: !s.bias,
	})
}

// shapeOf is the shape of a convolution that was given an input of this size.
func shapeOf(c *nn.Conv2d, input []int) (s shape, err error) {
	weight := c.Weight.Shape()
	s = shape{
		in: input[1], out: weight[0], size: [2]int(input[2:4]), kernel: [2]int(weight[2:4]),
		groups: max(1, c.Options.Groups), bias: c.Bias.Defined(),
	}
	for _, part := range []struct {
		from nn.Size
		to   *[2]int
	}{{c.Options.Stride, &s.stride}, {c.Options.Padding, &s.padding}, {c.Options.Dilation, &s.dilation}} {
		pair, ok := part.from.([]int)
		if !ok || len(pair) != 2 {
			return s, fmt.Errorf("a convolution with a stride, padding or dilation of %v cannot be measured alone", part.from)
		}
		*part.to = [2]int(pair)
	}
	return s, nil
}
