package cgo

import "math"

// F16 is a half-precision number as its bits.
type F16 uint16

// BF16 is the upper half of a float32.
type BF16 uint16

// Float32 widens the number.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// ToBF16 rounds to the nearest bfloat16, ties to even.
func ToBF16(f float32) BF16 {
	bits := math.Float32bits(f)
	if f != f {
		return BF16(bits>>16 | 0x40) // stay a NaN
	}
	return BF16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 widens the number.
func (h F16) Float32() float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // zero or subnormal: fraction * 2^-24
		f := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// ToF16 rounds to the nearest half-precision number, ties to even; what is too large
// becomes infinite.
func ToF16(f float32) F16 {
	bits := math.Float32bits(f)
	sign := F16(bits >> 16 & 0x8000)
	abs := bits &^ (1 << 31)
	switch {
	case abs > 0xff<<23:
		return sign | 0x7e00
	case abs >= 0x477ff000: // rounds past the largest half
		return sign | 0x7c00
	case abs < 0x38800000: // subnormal in half precision: adding 1/2 shifts the bits into place
		return sign | F16(math.Float32bits(math.Float32frombits(abs)+0.5)-math.Float32bits(0.5))
	}
	abs += 0xfff + abs>>13&1
	return sign | F16((abs-(127-15)<<23)>>13)
}
