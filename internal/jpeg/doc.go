// Package jpeg decodes and encodes JPEG by libjpeg-turbo, which it opens at run time where it finds one. Where
// there is none, its functions say so, and the caller has Go's decoder. C's errors come back as Go's; a damaged
// file is an error.
package jpeg
