package export

import "testing"

// Large images are laid out some rows at a time, whatever the steps, the kernel, the zeros around and the number of channels, of which
// few are put beside each other by vectors, and for any number of images.
func TestOwnConvolutionsOfLargeImages(t *testing.T) {
	one, none, same := []int{1, 1}, []int{0, 0}, []int{1, 1}
	for _, c := range []ownCase{
		{2, 3, 16, 130, 141, [2]int{3, 3}, []int{2, 2}, same, true, true, "hardswish"},
		{1, 24, 40, 64, 70, [2]int{3, 3}, one, same, true, true, "relu"},
		{3, 4, 20, 100, 101, [2]int{5, 3}, []int{1, 2}, []int{0, 1}, true, false, "none"},
		{1, 2, 7, 200, 150, [2]int{3, 3}, []int{3, 1}, []int{2, 0}, false, true, "relu"},
		{1, 1, 16, 300, 260, [2]int{7, 7}, []int{2, 2}, []int{3, 3}, true, false, "relu6"},
		{2, 40, 24, 40, 41, [2]int{1, 1}, one, none, false, false, "swish"},
		{1, 512, 16, 14, 14, [2]int{3, 3}, []int{2, 2}, same, true, false, "relu"}, // too few pixels for two pieces
	} {
		c.run(t, 0)
	}
}
