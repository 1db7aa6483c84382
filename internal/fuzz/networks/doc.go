// Package networks draws networks of layers that nobody would put together, for tests of what has to compute any of them.
//
//	n := networks.Draw(seed)
//	fn := n.Forward(n.Results...) // of one tensor, such as n.Input()
//
// A seed decides all of it: the kind (images, signals, volumes, sequences), sizes from one number up, what the layers are and
// which earlier values they read, what is returned, and whether there may be another number of inputs ([Network.Free]), or images of
// other sizes ([Network.Sides]). Weights have the dtype of what meets them, so that the same function computes in float32, in
// bfloat16 and, to compare with, in double precision. Describe prints the steps that some values need, which is how a failure is
// told.
package networks
