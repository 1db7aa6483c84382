package main

import (
	"fmt"
	"strconv"
	"strings"
)

// isReduction reports the int that is an enumeration in PyTorch's Python.
func isReduction(a Arg) bool { return a.Name == "reduction" && a.Type.Key() == "int" }

// paramType is the Go type of a required argument.
func paramType(a Arg) (string, error) {
	if isReduction(a) {
		return "Reduction", nil
	}
	typ, ok := map[string]string{
		"Tensor": "Tensor", "Tensor?": "Tensor", "Tensor[]": "[]Tensor", "Tensor?[]": "[]Tensor",
		"Generator?": "*Generator", "int": "int", "int?": "*int", "float": "float64", "float?": "*float64",
		"bool": "bool", "bool?": "bool", "Scalar": "Scalar", "Scalar?": "Scalar", "Scalar[]": "[]Scalar",
		"int[]": "[]int", "int[]?": "[]int", "float[]": "[]float64", "float[]?": "[]float64", "bool[]": "[]bool",
		"str": "string", "str?": "string", "ScalarType": "DType", "ScalarType?": "DType",
		"Layout": "Layout", "Layout?": "Layout", "MemoryFormat": "MemoryFormat", "MemoryFormat?": "MemoryFormat",
		"Device": "Device", "Device?": "Device",
	}[a.Type.Key()]
	if !ok {
		return "", fmt.Errorf("arguments of type %s have no Go form (%s)", a.Type.Key(), a.Name)
	}
	return typ, nil
}

// fieldType is the Go type of an optional argument. The zero value must mean the default,
// so numbers with another one become pointers.
func fieldType(a Arg) (string, error) {
	typ, err := paramType(a)
	if err != nil {
		return "", err
	}
	switch a.Type.Key() {
	case "int", "float":
		if !isReduction(a) && !zeroDefault(a) {
			typ = "*" + typ
		}
	case "bool?":
		typ = "*bool"
	}
	return typ, nil
}

func zeroDefault(a Arg) bool {
	v, err := strconv.ParseFloat(a.Default, 64)
	return err == nil && v == 0
}

// defaultText shows a default to a Go reader; "" when it is the type's natural nothing.
func defaultText(a Arg) string {
	switch a.Default {
	case "None", "False":
		return ""
	case "True":
		return "true"
	case "Mean":
		return "ReductionMean"
	case "long":
		return "Int64"
	case "contiguous_format":
		return "ContiguousFormat"
	case "[]":
		return "empty"
	}
	if s, ok := unquote(a.Default); ok {
		return strconv.Quote(s)
	}
	if v, err := strconv.ParseFloat(a.Default, 64); err == nil && !a.Type.List {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	if list, ok := listDefault(a); ok {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return a.Default
}

// unquote reads a schema's string default, in either kind of quotes.
func unquote(s string) (string, bool) {
	if len(s) < 2 || (s[0] != '\'' && s[0] != '"') || s[len(s)-1] != s[0] {
		return "", false
	}
	return strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`).Replace(s[1 : len(s)-1]), true
}

// listDefault spells a list's default out: int[2]=1 is [1, 1].
func listDefault(a Arg) ([]string, bool) {
	if !a.Type.List || !a.HasDefault || a.Default == "None" {
		return nil, false
	}
	if inner, ok := strings.CutPrefix(a.Default, "["); ok {
		inner = strings.TrimSuffix(inner, "]")
		if inner == "" {
			return []string{}, true
		}
		return strings.Split(strings.ReplaceAll(inner, " ", ""), ","), true
	}
	list := make([]string, max(a.Type.Size, 1))
	for i := range list {
		list[i] = a.Default
	}
	return list, true
}
