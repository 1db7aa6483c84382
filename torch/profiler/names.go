package profiler

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"strings"
)

// kineto writes names into its traces as they are, a quotation mark included, or not at all, if
// anything in them is not ASCII. Names that would suffer travel in another spelling.
const coded = "%%"

var codedName = regexp.MustCompile(`"` + coded + `[^"]*"`)

func encodeName(name string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }
	if strings.HasPrefix(name, coded) || strings.ContainsFunc(name, odd) {
		return coded + url.PathEscape(strings.ToValidUTF8(name, "\uFFFD"))
	}
	return name
}

// decodeName undoes encodeName; changed says whether there was anything to undo.
func decodeName(name string) (plain string, changed bool) {
	if rest, ok := strings.CutPrefix(name, coded); ok {
		if plain, err := url.PathUnescape(rest); err == nil {
			return plain, true
		}
	}
	return name, false
}

// decodeTrace copies a trace and spells its names as the program does.
func decodeTrace(w io.Writer, r io.Reader) error {
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	for {
		line, err := in.ReadBytes('\n')
		if bytes.Contains(line, []byte(coded)) {
			line = codedName.ReplaceAllFunc(line, func(quoted []byte) []byte {
				plain, _ := decodeName(string(quoted[1 : len(quoted)-1]))
				text, _ := json.Marshal(plain) // a string can be marshalled
				return text
			})
		}
		if _, failed := out.Write(line); failed != nil {
			return failed
		}
		if err == io.EOF {
			return out.Flush()
		}
		if err != nil {
			return err
		}
	}
}
