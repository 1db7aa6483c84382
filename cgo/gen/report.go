package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// goSymbol is where users find an operator: torch.Tensor.Add, aten.Softmax.
func goSymbol(o *Op) string {
	if o.Place == Hand {
		return o.Why
	}
	f := o.Go
	if o.Fold != nil {
		f = o.Fold.Go
	}
	switch {
	case o.Plain != nil:
		return "torch." + o.Plain.key()
	case o.Place != Public:
		return rooms[o.Place].name + "." + f.Symbol
	case f.Recv == "x":
		return "torch.Tensor." + f.Symbol
	case f.factory():
		return "torch.TensorOptions." + f.Symbol
	}
	return "torch." + f.Symbol
}

// tsv is docs/ops.tsv: operator, Go symbol, schema.
func tsv(door []*Op) string {
	var b strings.Builder
	b.WriteString("operator\tgo\tschema\n")
	for _, o := range door {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", o.Name(), goSymbol(o), o.Line)
	}
	return b.String()
}

// report is cgo/gen/report.txt: which package has what, what was left out and why.
func report(hand []string, door, left []*Op) string {
	var b strings.Builder
	b.WriteString("# Written by ./cgo/gen; do not edit.\n\n")
	places := map[Place]int{}
	folded := 0
	for _, o := range door {
		places[o.Place]++
		if o.Fold != nil {
			folded++
		}
	}
	fmt.Fprintf(&b, "operators in the yaml       %5d\n", len(door)+len(left))
	fmt.Fprintf(&b, "operators in the door       %5d\n", len(door))
	fmt.Fprintf(&b, "  public in package torch   %5d (of these %d share a form: their generator is an option)\n", places[Public], folded)
	fmt.Fprintf(&b, "  in package torch/linalg   %5d\n", places[Linalg])
	fmt.Fprintf(&b, "  in package torch/fft      %5d\n", places[FFT])
	fmt.Fprintf(&b, "  in package torch/special  %5d\n", places[Special])
	fmt.Fprintf(&b, "  in package torch/aten     %5d\n", places[Aten])
	fmt.Fprintf(&b, "  with a hand-written form  %5d\n", places[Hand])
	fmt.Fprintf(&b, "hand-written entries        %5d\n", len(hand))
	fmt.Fprintf(&b, "left out                    %5d\n", len(left))

	why := map[string][]string{}
	for _, o := range left {
		why[o.Why] = append(why[o.Why], o.Name())
	}
	reasons := slices.SortedFunc(maps.Keys(why), func(a, b string) int {
		return cmp.Or(-cmp.Compare(len(why[a]), len(why[b])), cmp.Compare(a, b))
	})
	for _, r := range reasons {
		fmt.Fprintf(&b, "  %-25s %5d\n", r, len(why[r]))
	}
	b.WriteString("\n# Left out for another reason than being an out= variant or taking names of dimensions.\n\n")
	for _, r := range reasons {
		if r == "out= variant" || r == "takes a Dimname" {
			continue
		}
		for _, name := range slices.Sorted(slices.Values(why[r])) {
			fmt.Fprintf(&b, "%-40s %s\n", name, r)
		}
	}
	b.WriteString("\n# Hand-written in package torch.\n\n")
	for _, o := range door {
		if o.Place == Hand {
			fmt.Fprintf(&b, "%-40s %s\n", o.Name(), o.Why)
		}
	}
	b.WriteString("\n# Gone or changed in later versions: answered with \"not implemented\" there.\n\n")
	for _, o := range door {
		if o.Gone != "" {
			fmt.Fprintf(&b, "%-40s %s\n", o.Name(), o.Gone)
		}
	}
	return b.String()
}
