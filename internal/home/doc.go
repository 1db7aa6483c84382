// Package home knows where libtorch may be. A home is a folder with lib/, which has our shims, and
// as a rule libtorch/, which has libtorch itself: what ./build.sh makes in third_party/, what
// `libtorch install` makes in the user's cache, and what `libtorch bundle` makes beside a program.
package home
