package imageio

import (
	"bytes"
	"encoding/binary"

	"github.com/libtorch-go/libtorch/internal/jpeg"
	"github.com/libtorch-go/libtorch/torch"
)

// orientation is what a JPEG or PNG file says of how the camera was held: 1 to 8, where 1 is upright. It is 1 for all that is not
// understood.
func orientation(file []byte) int {
	const upright = 1
	if jpeg.Is(file) {
		for at := 2; at+4 <= len(file) && file[at] == 0xff; {
			marker, size := file[at+1], int(binary.BigEndian.Uint16(file[at+2:]))
			if marker == 0xda || size < 2 || at+2+size > len(file) { // 0xda: the image itself
				return upright
			}
			if tiff, ok := bytes.CutPrefix(file[at+4:at+2+size], []byte("Exif\x00\x00")); ok && marker == 0xe1 {
				return tiffOrientation(tiff)
			}
			at += 2 + size
		}
		return upright
	}
	if !bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")) {
		return upright
	}
	for rest := file[8:]; len(rest) >= 12; {
		size, kind := binary.BigEndian.Uint32(rest), string(rest[4:8])
		if uint64(size) > uint64(len(rest)-12) {
			return upright
		}
		if kind == "eXIf" {
			return tiffOrientation(rest[8 : 8+size])
		}
		rest = rest[12+size:]
	}
	return upright
}

// tiffOrientation looks for tag 0x112 in the first directory.
func tiffOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	const entry = 12
	list := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(list) < entry {
			break
		}
		if order.Uint16(list) == 0x112 {
			if v := int(order.Uint16(list[8:])); v >= 1 && v <= 8 {
				return v
			}
			break
		}
		list = list[entry:]
	}
	return 1
}

// oriented turns an image [C, H, W] upright.
func oriented(t torch.Tensor, how int) torch.Tensor {
	if how >= 5 {
		t = t.Transpose(1, 2)
	}
	switch how {
	case 2, 6:
		return t.Flip(2)
	case 3, 7:
		return t.Flip(1, 2)
	case 4, 8:
		return t.Flip(1)
	}
	return t
}
