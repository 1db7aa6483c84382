// Package bridge is how the other packages of this module reach what package torch keeps to
// itself: the handle behind a tensor, the number of a dtype, the end of a call. It cannot
// import torch, which it serves: values of torch's types come as what they are made of.
package bridge
