package jit

import "github.com/libtorch-go/libtorch/internal/pickle"

// debugSound tells whether a record of source positions is one that libtorch reads within its bounds: it is used when an
// exception is told, and looks up texts and places in them without a check.
//
//	("FORMAT_WITH_STRING_TABLE", (text, …), ((offset, ((pieces, file, line), start, end), tag), …))
//
// Of another form it is left aside: tracebacks then show the code as TorchScript has it, and not the original.
func debugSound(v any) bool {
	top, ok := v.(*pickle.Tuple)
	if !ok || len(*top) != 3 || (*top)[0] != "FORMAT_WITH_STRING_TABLE" {
		return false
	}
	table, okTable := (*top)[1].(*pickle.Tuple)
	lines, okLines := (*top)[2].(*pickle.Tuple)
	if !okTable || !okLines {
		return false
	}
	d := debugRecord{known: map[*pickle.Tuple]int{}}
	for _, text := range *table {
		s, ok := text.(string)
		if !ok {
			return false
		}
		d.lengths = append(d.lengths, len(s))
	}
	for _, line := range *lines {
		own, ok := line.(*pickle.Tuple)
		if !ok || len(*own) != 3 || !d.place((*own)[1]) || !natural((*own)[0]) {
			return false
		}
	}
	return len(d.lengths) > 0
}

// debugRecord knows the lengths of the texts, and of the sources made of them.
type debugRecord struct {
	lengths []int
	known   map[*pickle.Tuple]int
}

// place tells whether a place lies in its source.
func (d *debugRecord) place(v any) bool {
	t, ok := v.(*pickle.Tuple)
	if !ok || len(*t) != 3 || !natural((*t)[1]) || !natural((*t)[2]) {
		return false
	}
	source, ok := (*t)[0].(*pickle.Tuple)
	if !ok {
		return false
	}
	length, known := d.known[source]
	if !known {
		length = d.source(*source)
		d.known[source] = length
	}
	start, end := (*t)[1].(int), (*t)[2].(int)
	return start <= end && end <= length
}

// source is the length of a source's text, or -1 where it is none.
func (d *debugRecord) source(t pickle.Tuple) (length int) {
	if len(t) != 3 || !natural(t[1]) || t[1].(int) >= len(d.lengths) || !natural(t[2]) {
		return -1
	}
	list, ok := t[0].(*pickle.Object)
	if !ok || list.Class.Name != "build_intlist" || len(list.Args) != 1 {
		return -1
	}
	pieces, ok := list.Args[0].(*pickle.List)
	if !ok {
		return -1
	}
	for _, v := range *pieces {
		if !natural(v) || v.(int) >= len(d.lengths) {
			return -1
		}
		length += d.lengths[v.(int)]
	}
	return length
}

// natural tells whether a value is a number of at least 0.
func natural(v any) bool {
	n, ok := v.(int)
	return ok && n >= 0
}
