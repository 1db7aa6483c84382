package fuzz

import "strings"

// unspecifiedResults are operators whose results differ from call to call by what they are.
// A name may end in a star.
var unspecifiedResults = map[string]string{
	"empty*":                      "the elements are not set",
	"new_empty*":                  "the elements are not set",
	"_empty*":                     "the elements are not set",
	"resize*":                     "elements that were not there before are not set",
	"_resize*":                    "elements that were not there before are not set",
	"_make_dep_token":             "the element is not set",
	"set.source*":                 "may grow a storage, whose new elements are not set",
	"set_*":                       "may grow a storage, whose new elements are not set",
	"_ctc_loss*":                  "log_alpha is set as far as the targets go",
	"linalg_lstsq*":               "libtorch hands LAPACK pivots that are not set",
	"_debug_has_internal_overlap": "an address",
}

// withheldNames are operators that no call is made of, by their full names.
var withheldNames = map[string]string{
	"aten::_test*":              "libtorch's own tests",
	"aten::_foobar":             "libtorch's own tests",
	"aten::_print":              "prints",
	"aten::print":               "prints",
	"aten::manual_seed*":        "sets the seed of the process",
	"aten::save":                "TorchScript's, writes files",
	"aten::set_grad_enabled":    "a mode for good, which is what it is for",
	"aten::_set_deterministic*": "a mode for good",
	"aten::grad":                "TorchScript's",
	"aten::from_file*":          "maps files of the machine",
	"aten::warn*":               "prints",
	"aten::hash*":               "an address",
}

func matches(list map[string]string, name string) bool {
	for pattern := range list {
		prefix, star := strings.CutSuffix(pattern, "*")
		if name == pattern || star && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func unspecified(op string) bool { return matches(unspecifiedResults, op) }

func withheld(full string) bool {
	return matches(withheldNames, full)
}
