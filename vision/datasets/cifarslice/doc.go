// Package cifarslice is a small part of CIFAR-10 that is compiled into the program: 1,100
// images to train on and 250 to test with, for tests and for machines without a network.
//
//	train, test := cifarslice.Load(true), cifarslice.Load(false)
//
// A program has them (2.9 MB) only if it imports this package; [datasets.LoadCIFAR10] never
// takes them for the whole data set.
package cifarslice
