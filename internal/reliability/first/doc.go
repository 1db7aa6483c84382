// Package first makes every exported function of the public packages the first call of a process.
// libtorch is opened by the first call that needs it: what takes it to be open already would read
// through a null pointer.
package first
