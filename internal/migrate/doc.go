// Package migrate rewrites programs for github.com/wangkuiyi/gotorch to libtorch for Go, and lists what it cannot rewrite.
//
// It type-checks a package against whatever gotorch its module names (neither C nor OpenCV is looked at), and replaces the text
// of calls, types and constants by that of rules.txt; all else stays as it is, comments included. What gotorch has and libtorch
// for Go has not in one call is a function of package support, whose source goes into a file of the program.
//
// The same rules.txt is the table of docs/gotorch.md.
package migrate
