// Package pickle reads and writes Python's pickles as data. Classes and functions are names
// in it, and calls are notes of calls: nothing that a file says is ever run.
//
// [Read] takes files of strangers. It knows the opcodes that picklers of protocols 2 to 5
// write for data, asks its caller about every global, counts what it allocates against a
// budget and never recurses.
package pickle
