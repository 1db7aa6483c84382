package jpeg

import "encoding/binary"

// Dimensions are those in a file's header. They are not ok where the header is not that of a JPEG.
func Dimensions(file []byte) (width, height int, ok bool) {
	if !Is(file) {
		return 0, 0, false
	}
	for at := 2; at+9 <= len(file) && file[at] == 0xff; {
		marker := file[at+1]
		if marker == 0xff { // a byte that fills
			at++
			continue
		}
		if marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			height, width = int(binary.BigEndian.Uint16(file[at+5:])), int(binary.BigEndian.Uint16(file[at+7:]))
			return width, height, width > 0 && height > 0
		}
		at += 2 + int(binary.BigEndian.Uint16(file[at+2:]))
	}
	return 0, 0, false
}
