package imageio

import "image"

// webpRows writes rows of a lossy WebP's luma and chroma, which go from 16 to 235 and 240 and not, as Go takes them to, over all of a
// byte. Chroma is interpolated: the integers are libwebp's.
func webpRows(img *image.YCbCr, alpha func(x, y int) uint8) func(y int, row []uint8) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	return func(y int, row []uint8) {
		near, other := neighbours(y, height)
		for x := range width {
			col, beside := neighbours(x, width)
			u := chroma(img.Cb, img.CStride, near, other, col, beside)
			v := chroma(img.Cr, img.CStride, near, other, col, beside)
			luma := int(img.Y[y*img.YStride+x]) * 19077 >> 8
			row[4*x] = clip(luma + v*26149>>8 - 14234)
			row[4*x+1] = clip(luma - u*6419>>8 - v*13320>>8 + 8708)
			row[4*x+2] = clip(luma + u*33050>>8 - 17685)
			row[4*x+3] = alpha(x, y)
		}
	}
}

// neighbours are the chroma sample that pixel i of n lies in, and the next one on its other side; at the border, the same.
func neighbours(i, n int) (near, other int) {
	near = i / 2
	if i%2 == 0 {
		return near, max(0, near-1)
	}
	return near, min((n-1)/2, near+1)
}

// chroma weighs four samples 9, 3, 3 and 1; along the left and right border two of them 3 and 1.
func chroma(plane []uint8, stride, near, other, col, beside int) int {
	at := func(row, col int) int { return int(plane[row*stride+col]) }
	a, c := at(near, col), at(other, col)
	if col == beside {
		return (3*a + c + 2) >> 2
	}
	b, d := at(near, beside), at(other, beside)
	return ((a+b+c+d+8+2*(b+c))>>3 + a) >> 1
}

// clip makes a byte of a number with six bits behind the point.
func clip(v int) uint8 { return uint8(min(max(v>>6, 0), 255)) }

func opaque(int, int) uint8 { return 255 }
