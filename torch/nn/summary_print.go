package nn

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/libtorch-go/libtorch/internal/pytext"
)

// String is a table of all modules, and the totals.
func (s *ModuleSummary) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "Module\tOutput\tParameters\tMACs\t")
	for _, r := range s.Rows {
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t\n", strings.Repeat("  ", r.Depth), r.label(), shapes(r.Output), r.parameters(), count(r.MACs))
	}
	w.Flush()
	fmt.Fprintf(&b, "\nParameters: %s, trainable: %s\n", grouped(s.Params), grouped(s.Trainable))
	fmt.Fprintf(&b, "Multiply-adds: %s\n", grouped(s.MACs))
	fmt.Fprintf(&b, "Bytes: %s of input, %s of activations, %s of parameters and buffers\n", grouped(s.InputBytes),
		grouped(s.ActivationBytes), grouped(s.StateBytes))
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// label is the last part of the name, and the type.
func (r SummaryRow) label() string {
	if r.Name == "" {
		return r.Type
	}
	return r.Name[strings.LastIndexByte(r.Name, '.')+1:] + " " + r.Type
}

func (r SummaryRow) parameters() string {
	switch {
	case r.Trainable == r.Params:
		return count(r.Params)
	case r.Trainable == 0:
		return count(r.Params) + " frozen"
	}
	return count(r.Params) + " partly frozen"
}

func shapes(list [][]int) string {
	text := make([]string, len(list))
	for i, shape := range list {
		text[i] = pytext.List(shape)
	}
	return strings.Join(text, " ")
}

// count is a number where there is something to count.
func count(n int) string {
	if n == 0 {
		return ""
	}
	return grouped(n)
}

// grouped is a number with commas between the thousands.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

var folders = regexp.MustCompile(`[\w.-]+/`)

// typeName is the name of a module's type without those of packages around it.
func typeName(m any) string {
	t := reflect.TypeOf(m)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return folders.ReplaceAllString(t.String(), "")
	}
	return folders.ReplaceAllString(t.Name(), "")
}
